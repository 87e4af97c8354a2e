import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { bundledProgram } from './bundled-programs.js'
import { eventually } from './facts.js'

/** One JSON line a program said. Every line has an `event`. */
export interface Said {
  event: string
  [field: string]: unknown
}

/** A process of its own. It is killed and waited for when the test ends, whatever the test did to it. */
export interface Program {
  readonly pid: number
  readonly said: readonly Said[]
  /** What it wrote to standard error. */
  complaints(): string
  /** Resolves with the first line of that event, also when it was said before. */
  heard(event: string, matches?: (said: Said) => boolean): Promise<Said>
  gone(): boolean
  /** Resolves when it has gone and everything it said is here. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  signal(signal: NodeJS.Signals): void
  /** kill -9, and waits until it has gone. */
  kill(): Promise<void>
  /** Stops it, all threads at once, without its knowing. */
  freeze(): void
  thaw(): void
}

/** Starts test/support/<name>.mjs with these settings. */
export function runProgram(
  name: string,
  settings: object,
  options: { args?: string[]; env?: Record<string, string> } = {},
): Program {
  const child: ChildProcess = spawn(process.execPath, [...(options.args ?? []), bundledProgram(name), JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Node's own defaults, not vitest's.
    env: { ...process.env, NODE_OPTIONS: '', HOLDFAST_LOG_LEVEL: 'info', ...options.env },
  })
  const said: Said[] = []
  let complained = ''
  // A process that is killed while it writes leaves half a line, and every whole one ends with a brace.
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    if (line.endsWith('}')) said.push(JSON.parse(line))
  })
  child.stderr?.on('data', (text) => {
    complained += text
  })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const gone = () => child.exitCode !== null || child.signalCode !== null
  const signal = (what: NodeJS.Signals) => {
    if (!gone()) process.kill(child.pid as number, what)
  }
  const kill = async () => {
    if (!gone()) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
  onTestFinished(async () => {
    await kill()
    await exited
  })
  return {
    pid: child.pid as number,
    said,
    complaints: () => complained,
    gone,
    exited,
    signal,
    kill,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async heard(event, matches = () => true) {
      return eventually(
        () => {
          const found = said.find((line) => line.event === event && matches(line))
          if (!found && gone()) throw new Error(`the program ended before it said ${event}: ${complained.slice(-2000)}`)
          return found
        },
        { within: 60_000 },
      )
    },
  }
}
