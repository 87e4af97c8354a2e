import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { startPostgres } from 'holdfast/dev'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { isRoot, isRunning, nobody, nobodyRunsNode } from '../support/machine.js'
import {
  ask,
  inAnotherProcess,
  installation,
  leaveNothing,
  leaveNothingOf,
  linkLibraries,
  linksIn,
  programsOf,
  temporary,
} from '../support/postgres-starts.js'

afterEach(leaveNothing)

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

  test('a directory that another starter hands over just after we were turned away is used as well', async () => {
    const dataDir = await temporary()
    afterTheAnswer(dataDir, (uid) => {
      // What the other one does first of all: the directory changes hands, and a cluster is begun in it.
      chownSync(dataDir, uid, 0)
      mkdirSync(join(dataDir, `pg0.init-${process.pid}-0`))
    })
    const notices: string[] = []
    const postgres = await startPostgres({ dataDir, onNotice: (line) => notices.push(line) })
    if (!postgres.dataDir.startsWith(dataDir)) leaveNothingOf(dirname(postgres.dataDir))
    expect(dirname(postgres.dataDir)).toBe(dataDir)
    expect(notices).toEqual([])
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

/** Does `work` between the moment a program of that user has found out that it may not enter, and the moment we hear of it. */
function afterTheAnswer(directory: string, work: (uid: number) => void): void {
  const listen = (message: unknown) => {
    const { process: child } = message as { process: ChildProcess }
    child.once('spawn', () => {
      if (child.spawnargs.at(-1) !== directory) return
      unsubscribe('child_process', listen)
      // Nobody waits for it while this loop runs, so it stays listed when it has ended.
      while (isRunning(child.pid as number));
      work(Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]))
    })
  }
  subscribe('child_process', listen)
  onTestFinished(() => void unsubscribe('child_process', listen))
}
