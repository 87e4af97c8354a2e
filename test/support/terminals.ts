/** Terminals of a user: each has the exports that were typed there, and at most one program in the foreground. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'

/** What the run of the tests has set is not what a user has, but for where the PostgreSQL of this machine is. */
const ofTheTests = /^(npm_|vitest|holdfast_(?!postgres_bin)|(database_url|node_options|node_env|port|test|dev|prod|mode)$)/i

export interface Typed {
  code: number | null
  printed: string
}

export class Terminal {
  readonly #env: NodeJS.ProcessEnv
  readonly #directory: string
  #foreground: ChildProcess | undefined
  #printed = ''

  constructor(directory: string) {
    this.#directory = directory
    this.#env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofTheTests.test(name)))
    this.#env.NO_COLOR = '1'
  }

  /** Types a line and waits until it has ended. What it exports is there for the lines after it. */
  async type(line: string): Promise<Typed> {
    const [, exported] = /^export (\w+)=/.exec(line) ?? []
    const typed = await this.#shell(exported ? `${line}; printf %s "$${exported}"` : line)
    if (exported) this.#env[exported] = typed.printed
    return typed
  }

  /** Types a line whose program stays in the foreground, and waits until it has said this. */
  async start(line: string, ready: RegExp): Promise<void> {
    // A group of its own is what Ctrl-C reaches. With exec, a signal to the shell is one to the program itself.
    const command = line.startsWith('node ') ? `exec ${line}` : line
    this.#printed = ''
    const child = spawn('sh', ['-c', command], {
      cwd: this.#directory,
      env: this.#env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#foreground = child
    await new Promise<void>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text) => {
          this.#printed += text
          if (ready.test(this.#printed)) resolve()
        })
      }
      child.once('close', (code) => reject(new Error(`${line} ended with ${code}:\n${this.#printed}`)))
    })
  }

  /** Ctrl-C, as a terminal sends it: to everything that the line started. */
  async interrupt(): Promise<void> {
    await this.#end((pid) => process.kill(-pid, 'SIGINT'))
  }

  /** SIGTERM, as a platform sends it: to the process it started. Answers with what that ended with. */
  async terminate(): Promise<number | null | undefined> {
    return this.#end((pid) => process.kill(pid, 'SIGTERM'))
  }

  async #end(signal: (pid: number) => void): Promise<number | null | undefined> {
    const child = this.#foreground
    this.#foreground = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode
    // Everything that the line started has closed its output by then.
    const closed = once(child, 'close')
    signal(child.pid as number)
    await closed
    return child.exitCode
  }

  #shell(command: string): Promise<Typed> {
    return new Promise((resolve) => {
      const child = execFile('sh', ['-c', command], { cwd: this.#directory, env: this.#env }, (error, stdout, stderr) => {
        resolve({ code: error ? child.exitCode : 0, printed: command.startsWith('export ') ? stdout : `${stdout}${stderr}` })
      })
      child.stdin?.end()
    })
  }
}
