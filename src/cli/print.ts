import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { painter, type Style } from './paint.js'

const onOut = (style: Style) => painter(style, process.stdout, process.env)

export const bold = onOut('bold')
export const dim = onOut('dim')
export const cyan = onOut('cyan')
export const green = onOut('green')
export const yellow = onOut('yellow')

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
