import { createInterface } from 'node:readline/promises'

/** Where a command writes. */
export interface Output {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
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
}

/** The process itself. Ctrl-C ends it as it ends any other program. */
export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process
  return {
    ...{ out: stdout, err: stderr, env, stop: new AbortController().signal },
    ...(stdin.isTTY && stderr.isTTY && { ask }),
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
