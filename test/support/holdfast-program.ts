import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundledProgram } from './bundled-programs.js'
import { processesNaming } from './machine.js'

const repository = fileURLToPath(new URL('../..', import.meta.url))

export interface How {
  env?: Record<string, string>
  installedIn?: string
  uid?: number
  gid?: number
}

/** Commands that look for files of the package, or load those of a user that import it. */
const ofThePackage = ['up', 'serve', 'work']

/** `holdfast <args>` in a process of its own, as a person in that directory would run it. */
export class Program {
  readonly process: ChildProcess
  readonly ended: Promise<number | string | null>
  output = ''
  complaints = ''

  constructor(directory: string, args: readonly string[], how: How = {}) {
    const { uid, gid } = how
    const { DATABASE_URL: _notTheTestServer, ...env } = process.env
    const whole = how.installedIn || ofThePackage.includes(args[0] ?? '')
    const main = whole ? join(how.installedIn ?? repository, 'dist', 'cli', 'main.js') : bundledProgram('cli/main')
    this.process = spawn(process.execPath, [main, ...args], {
      cwd: directory,
      env: { ...env, NO_COLOR: '1', ...how.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    })
    this.process.stdout?.on('data', (text) => {
      this.output += text
    })
    this.process.stderr?.on('data', (text) => {
      this.complaints += text
    })
    this.ended = once(this.process, 'close').then(([code, signal]) => code ?? signal)
  }

  get pid(): number {
    return this.process.pid as number
  }

  async end(signal: NodeJS.Signals): Promise<number | string | null> {
    this.process.kill(signal)
    return this.ended
  }
}

/** A Holdfast started with `holdfast up`, once it has said where it is. */
export class RunningHoldfast extends Program {
  address = ''
  adminKey = ''

  /** Any free port, unless the environment says otherwise: other tests run at the same time. */
  static async start(directory: string, how: How = {}): Promise<RunningHoldfast> {
    const started = new RunningHoldfast(directory, ['up'], { ...how, env: { PORT: '0', ...how.env } })
    await started.ready()
    return started
  }

  async ready(): Promise<this> {
    const found = await new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        // The last line of what is printed, so that all of it is there.
        const match = /Dashboard +(https?:\/\/[^/]+)\/#key=(\S+)[\s\S]*Ctrl-C stops everything/.exec(this.output)
        if (match) resolve(match)
      }
      this.process.stdout?.on('data', look)
      this.ended.then((code) => reject(new Error(`start ended with ${code}:\n${this.output}${this.complaints}`)))
    })
    this.address = found[1] as string
    this.adminKey = found[2] as string
    return this
  }

  async get(path: string): Promise<Response> {
    return fetch(this.address + path, { headers: { authorization: `Bearer ${this.adminKey}` } })
  }

  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers is what the test looks at
  async json(path: string): Promise<any> {
    return (await this.get(path)).json()
  }

  async enqueue(job: object): Promise<{ id: string; status: string }> {
    const response = await fetch(`${this.address}/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(job),
    })
    return (await response.json()) as { id: string; status: string }
  }
}

/** A directory as a clone of the repository would be: everybody may enter, and it is gone after `clearUp`. */
export async function emptyDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-start-')))
  await chmod(directory, 0o755)
  return directory
}

/** Ends whatever a failed test left in the directory, and removes it. */
export async function clearUp(directory: string): Promise<void> {
  for (const pid of await processesNaming(directory)) process.kill(pid, 'SIGKILL')
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
