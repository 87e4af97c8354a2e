import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from 'holdfast/dev'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { isAlive, isRoot, isRunning } from '../support/machine.js'
import {
  ask,
  frozenSession,
  inAnotherProcess,
  initdbAtWork,
  initdbOf,
  leaveNothing,
  temporary,
  wait,
} from '../support/postgres-starts.js'

afterEach(leaveNothing)

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
