import { createInterface } from 'node:readline/promises'

/** Where a command writes. */
export interface Output {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
  rows?: number | undefined
}

/** A terminal that a command draws on while it listens to keys. */
export interface LiveTerminal {
  /** Gives keys as they are pressed, the signal that asks to end, and changes of size, until the answer is called. `restore`: the process ends. */
  take(on: { key(key: string): void; stop(signal: string): void; resize(): void; restore(): void }): () => void
}

/** What a command reads from and writes to: the process, or a test. */
export interface Io {
  out: Output
  err: Output
  env: Readonly<Record<string, string | undefined>>
  /** Asks the person at the terminal; left out where nobody is there to answer. */
  ask?: (question: string) => Promise<string>
  /** Ends what would go on for ever, such as --watch. */
  stop: AbortSignal
  /** Left out where no terminal is there to draw on. */
  live?: LiveTerminal
}

/** The process itself. Ctrl-C ends it as it ends any other program. */
export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process
  return {
    ...{ out: stdout, err: stderr, env, stop: new AbortController().signal },
    ...(stdin.isTTY && stderr.isTTY && { ask }),
    ...(stdin.isTTY && stdout.isTTY && { live: { take: takeTerminal } }),
  }
}

/** On standard error, because standard output may go to a file. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}

const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Keys come one by one, and Ctrl-C is one of them, so signals come from elsewhere alone. */
const takeTerminal: LiveTerminal['take'] = ({ key, stop, resize, restore }) => {
  const { stdin, stdout } = process
  const pressed = (text: Buffer) => key(text.toString())
  stdin.setRawMode(true)
  stdin.on('data', pressed).resume()
  stdout.on('resize', resize)
  process.on('exit', restore)
  for (const signal of ends) process.on(signal, stop)
  return () => {
    stdin.setRawMode(false)
    stdin.off('data', pressed).pause()
    stdout.off('resize', resize)
    process.off('exit', restore)
    for (const signal of ends) process.off(signal, stop)
  }
}
