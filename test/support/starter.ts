import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { PostgresOptions, RunningPostgres } from 'holdfast/dev'

const repository = fileURLToPath(new URL('../..', import.meta.url))

export interface Starter {
  process: ChildProcess
  /** What startPostgres gave, once it did. */
  started: Promise<Omit<RunningPostgres, 'stop'> & { notices: string[] }>
  kill(): Promise<void>
}

/** A process of its own that starts Postgres and then lives on until it is killed. */
export function startInAnotherProcess(
  options: PostgresOptions,
  how: { installedIn?: string; uid?: number; gid?: number; env?: Record<string, string> } = {},
): Starter {
  const dev = pathToFileURL(join(how.installedIn ?? repository, 'dist', 'dev', 'index.js')).href
  const script = `
    import { startPostgres } from ${JSON.stringify(dev)}
    const notices = []
    const postgres = await startPostgres({ ...${JSON.stringify(options)}, onNotice: (line) => notices.push(line) })
    console.log(JSON.stringify({ ...postgres, notices }))
    setInterval(() => {}, 1000)`
  const { uid, gid } = how
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: '/',
    env: { ...process.env, ...how.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // It leads a group, as it would if a shell had started it.
    detached: true,
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  })
  let said = ''
  let complained = ''
  const started = new Promise<Awaited<Starter['started']>>((resolve, reject) => {
    child.stdout.on('data', (text) => {
      said += text
      if (said.endsWith('\n')) resolve(JSON.parse(said))
    })
    child.stderr.on('data', (text) => {
      complained += text
    })
    child.on('close', () => reject(new Error(`the starter ended: ${complained}`)))
  })
  // A starter that is killed on purpose never answers, and nobody waits for it.
  started.catch(() => {})
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  return { process: child, started, kill }
}
