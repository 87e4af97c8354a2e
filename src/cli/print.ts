import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { styleText } from 'node:util'

/** Colours at a terminal, and none in files and pipes or with NO_COLOR. */
function painter(style: Parameters<typeof styleText>[0], stream: NodeJS.WriteStream): (text: string) => string {
  return (text) => (stream.isTTY && !process.env.NO_COLOR ? styleText(style, text) : text)
}

export const bold = painter('bold', process.stdout)
export const dim = painter('dim', process.stdout)
export const cyan = painter('cyan', process.stdout)
export const green = painter('green', process.stdout)
export const yellow = painter('yellow', process.stdout)
export const red = painter('red', process.stderr)

export function print(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** A line that the next one replaces; only at a terminal, because nowhere else can a line be replaced. */
export function printForNow(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`${dim(text)}`)
}

export function takeBack(): void {
  if (process.stdout.isTTY) process.stdout.write('\r\u001b[K')
}

/** So that nobody is told to use a program they do not have. */
export function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
