import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, realpath, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { PostgresOptions, RunningPostgres } from 'holdfast/dev'
import pg from 'pg'
import { onTestFinished, vi } from 'vitest'
import { installWithoutScripts } from './installation.js'
import { isAlive, isRunning } from './machine.js'
import { type Starter, startInAnotherProcess } from './starter.js'

// Tests of the starting itself choose their binaries themselves, whatever the rest of the suite runs on.
delete process.env.HOLDFAST_POSTGRES_BIN
// Each makes a server or several, which takes a second, and thirty where many others want the processor.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

export const systemBinaries = ['14', '15', '16', '17', '18'].map((major) => `/usr/lib/postgresql/${major}/bin`).filter(existsSync)
export const wait = { timeout: 60_000, interval: 100 }

const directories: string[] = []
const starters: Starter[] = []

/** For afterEach: ends what the test started and removes what it made. */
export async function leaveNothing(): Promise<void> {
  for (const starter of starters.splice(0)) await starter.kill()
  for (const directory of directories.splice(0)) {
    for (const pid of await postmastersUnder(directory)) await end(pid)
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
}

export async function temporary(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-postgres-')))
  directories.push(directory)
  return directory
}

export async function installation() {
  const installed = await installWithoutScripts()
  directories.push(installed.directory)
  await chmod(installed.directory, 0o755)
  return installed
}

/** Makes the links as npm's install script would, by one start as ourselves. */
export async function linkLibraries(installed: { directory: string }): Promise<void> {
  const postgres = await inAnotherProcess({ dataDir: await temporary() }, { installedIn: installed.directory }).started
  await end(postgres.pid)
}

/** Places outside of the temporary directory, and the directory above once it is empty. */
export function leaveNothingOf(path: string): void {
  // Whatever a test gets wrong, it must not remove what is not ours.
  if (!/\/holdfast[^/]*\//.test(path)) throw new Error(`${path} is not a place of Holdfast's`)
  directories.push(path)
  onTestFinished(async () => void (await rmdir(dirname(path)).catch(() => {})))
}

export function inAnotherProcess(options: PostgresOptions, how?: Parameters<typeof startInAnotherProcess>[1]): Starter {
  const starter = startInAnotherProcess(options, how)
  starters.push(starter)
  return starter
}

export async function connect(postgres: { connectionString: string }): Promise<pg.Client> {
  const client = new pg.Client(postgres.connectionString)
  client.on('error', () => {})
  await client.connect()
  return client
}

/** A session that neither ends nor lets go of the server's memory until it is thawed. */
export async function frozenSession(postgres: { connectionString: string }): Promise<{ thaw: () => void }> {
  const client = await connect(postgres)
  const { rows } = await client.query('select pg_backend_pid() as pid')
  process.kill(rows[0].pid, 'SIGSTOP')
  const thaw = () => void (isAlive(rows[0].pid) && process.kill(rows[0].pid, 'SIGCONT'))
  onTestFinished(thaw)
  return { thaw }
}

/** The first value of the first row. */
export async function ask(postgres: { connectionString: string }, sql: string): Promise<unknown> {
  const client = await connect(postgres)
  try {
    return Object.values((await client.query(sql)).rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

export async function programsOf(postgres: Pick<RunningPostgres, 'connectionString'>): Promise<string> {
  return String(await ask(postgres, "select setting from pg_config where name = 'BINDIR'"))
}

export async function linksIn(directory: string): Promise<string[]> {
  return (await readdir(directory, { withFileTypes: true })).filter((entry) => entry.isSymbolicLink()).map((entry) => entry.name)
}

/** The directory in which an initdb has begun to write. */
export function initdbAtWork(dataDir: string): string | undefined {
  const stage = readdirSync(dataDir).find((name) => name.includes('.init-'))
  return stage && existsSync(join(dataDir, stage, 'data', 'PG_VERSION')) ? join(dataDir, stage) : undefined
}

/** initdb and the server it runs, which name that directory in their command lines. */
export async function initdbOf(stage: string): Promise<number[]> {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).map(Number).filter(Boolean)) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(stage)) found.push(pid)
  }
  return found
}

export async function postmastersUnder(directory: string): Promise<number[]> {
  const clusters = existsSync(directory)
    ? (await readdir(directory, { recursive: true })).filter((path) => path.endsWith('postmaster.pid'))
    : []
  const pids = clusters.map(async (path) => Number.parseInt(await readFile(join(directory, path), 'utf8'), 10))
  return (await Promise.all(pids)).filter(isRunning)
}

export async function end(pid: number): Promise<void> {
  if (isRunning(pid)) process.kill(pid, 'SIGQUIT')
  await vi.waitUntil(() => !isRunning(pid), wait)
}
