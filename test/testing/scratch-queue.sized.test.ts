import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startNode, support } from '../support/children.js'
import { longTest } from '../support/sized.js'

/** No server is named, so the kit has to bring its own; it may use no directory but this one. */
let temporary: string
let alone: Record<string, string | undefined>

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'holdfast-kit-'))
  alone = {
    DATABASE_URL: undefined,
    HOLDFAST_TEST_URL: undefined,
    TMPDIR: temporary,
    NODE_OPTIONS: undefined,
    NODE_V8_COVERAGE: undefined,
  }
})
afterAll(() => rm(temporary, { recursive: true, force: true }))

const patiently = { timeout: 60_000, interval: 50 }

describe('a process that uses the kit without a server', () => {
  test('passes a suite of node:test on an embedded Postgres, and leaves nothing behind', async () => {
    const { ended } = startNode(['--test', support('./users-suite.node-test.mjs')], alone)
    const { code, output } = await ended
    expect(output).toMatch(/pass 3/)
    expect(code).toBe(0)
    await vi.waitFor(async () => expect(await readdir(temporary)).toEqual([]), patiently)
  }, 120_000)

  longTest(
    'leaves nothing behind when it is killed in the middle of a test',
    async () => {
      const program = `
      const { scratchQueue } = await import(process.env.HOLDFAST_DIST + '/testing/index.js')
      const queue = await scratchQueue()
      console.log(queue.connectionString)
      setInterval(() => {}, 1000)`
      const { child, ended } = startNode(['--input-type=module', '-e', program], alone)
      const url = await new Promise<string>((resolve) => child.stdout?.on('data', (text) => resolve(String(text).trim())))
      expect(await answers(url)).toBe(true)
      child.kill('SIGKILL')
      await ended
      await vi.waitFor(async () => expect(await readdir(temporary)).toEqual([]), patiently)
      expect(await answers(url)).toBe(false)
    },
    120_000,
  )

  test('is told what to do when the user of its server may not make databases, and may use schemas', async () => {
    const queue = await scratchQueue()
    const admin = new pg.Client({ connectionString: queue.connectionString })
    await admin.connect()
    const role = `holdfast_poor_${process.pid}`
    await admin.query(`create role ${role} login password 'poor'`)
    const url = new URL(queue.connectionString)
    url.username = role
    url.password = 'poor'
    await expect(scratchQueue({ connectionString: url.href })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining(`alter role ${role} createdb`),
    })
    await admin.query(`grant create on database ${admin.database} to ${role}`)
    await usesASchema(url.href)
    await admin.query(`drop owned by ${role}`)
    await admin.query(`drop role ${role}`)
    await admin.end()
    await queue.close()
  })
})

describe('a scratch queue', () => {
  test('shares nothing with another one, and takes its database with it when it is closed', async () => {
    const [one, two] = await Promise.all([scratchQueue(), scratchQueue()])
    const type = {
      type: 'a',
      lane: 'default',
      priority: 5,
      maxAttempts: 5,
      timeoutMs: 1_000,
      approval: undefined,
      unique: undefined,
    }
    await insideOf(one.holdfast).store.registerTypes([type], { update: true })
    await one.holdfast.enqueue('a', 1)
    await one.clock.advance('1d')
    expect(await two.enqueued()).toEqual([])
    expect((await two.clock.now()).getTime()).toBeLessThan((await one.clock.now()).getTime())
    await Promise.all([one.close(), one.close(), two.close()])
    await one.close()
    expect(await answers(one.connectionString)).toBe(false)
  })

  test('lets a connection that is just being closed take its leave before its database goes', async () => {
    const queue = await scratchQueue()
    const [leaving, observer] = [new pg.Client(queue.connectionString), new pg.Client(process.env.HOLDFAST_TEST_URL)]
    const errors: Error[] = []
    leaving.on('error', (error) => errors.push(error))
    await Promise.all([leaving.connect(), observer.connect()])
    const name = leaving.database
    const closed = queue.close()
    const asked = 'select from pg_stat_activity where query like $1'
    await vi.waitFor(async () => expect((await observer.query(asked, [`%datname = '${name}'%`])).rowCount).toBe(1), patiently)
    expect((await observer.query('select from pg_database where datname = $1', [name])).rowCount).toBe(1)
    await leaving.end()
    await closed
    await observer.end()
    expect(errors).toEqual([])
  })

  test('closes itself at the end of its scope', async () => {
    let url: string
    {
      await using queue = await scratchQueue()
      url = queue.connectionString
      expect(await answers(url)).toBe(true)
    }
    expect(await answers(url)).toBe(false)
  })
})

/** Two queues beside each other in one database: neither sees the other's jobs or time, and both are gone when they are closed. */
async function usesASchema(connectionString: string): Promise<void> {
  const [one, two] = await Promise.all([1, 2].map(() => scratchQueue({ connectionString, schema: true })))
  const done: unknown[] = []
  const type = defineType({ type: 'noted', run: (payload) => void done.push(payload) })
  await one?.holdfast.enqueue(type, 'in a schema', { delay: '3 days' })
  expect(await two?.enqueued()).toEqual([])
  await one?.clock.advance('3 days')
  expect((await one?.drain([type]))?.completed).toHaveLength(1)
  expect(done).toEqual(['in a schema'])
  expect((await two?.clock.now())?.getTime()).toBeLessThan(Date.now() + 86_400_000)
  await Promise.all([one?.close(), two?.close()])
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rowCount } = await client.query("select from pg_namespace where nspname like 'holdfast_scratch%'")
  await client.end()
  expect(rowCount).toBe(0)
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
