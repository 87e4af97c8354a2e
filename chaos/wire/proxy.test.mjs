import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startProxy } from './proxy.mjs'
import { callOf, everything, Recorder, Trap } from './trap.mjs'

const server = process.env.HOLDFAST_TEST_URL
let proxy
let direct
let client
let table

beforeEach(async () => {
  proxy = await startProxy(Number(new URL(server).port))
  table = `chaos_${Math.random().toString(36).slice(2)}`
  direct = new pg.Client({ connectionString: server })
  await direct.connect()
  await direct.query(`create table ${table} (n integer)`)
  client = new pg.Client({ connectionString: proxy.through(server) })
  client.on('error', () => {})
  await client.connect()
})
afterEach(async () => {
  await client.end().catch(() => {})
  await proxy.close()
  await direct.query(`drop table ${table}`)
  await direct.end()
})
const insert = () => client.query(`-- probe\ninsert into ${table} values ($1::int)`, [1])
const rows = async () => (await direct.query(`select from ${table}`)).rowCount
const at = (index, fault) => new Trap(callOf('probe'), { side: 'frontend', index, fault }, { freezeMs: 100 })

test('an operation that nobody disturbs is written down message by message', async () => {
  const recorder = new Recorder(everything())
  proxy.arm(recorder)
  await insert()
  expect(recorder.messages.filter(({ side }) => side === 'frontend').map(({ type }) => type)).toEqual([
    'Parse',
    'Bind',
    'Describe',
    'Execute',
    'Sync',
  ])
  expect(recorder.messages.at(-1)).toEqual({ side: 'backend', type: 'ReadyForQuery' })
})

describe('a statement of which', () => {
  test.each([
    [3, 'cut-before', 0],
    [3, 'cut-after', 0],
    [4, 'cut-before', 0],
    [4, 'cut-after', 1],
  ])('message %i meets %s fails, and leaves %i rows', async (index, fault, left) => {
    const trap = at(index, fault)
    proxy.arm(trap)
    await expect(insert()).rejects.toThrow()
    await trap.sprung
    // The server may need a moment to see that its client has gone.
    await expect.poll(rows).toBe(left)
  })

  test('a message is frozen comes through later', async () => {
    const trap = at(2, 'freeze')
    proxy.arm(trap)
    await insert()
    expect(trap.done).toBe(true)
    expect(await rows()).toBe(1)
  })

  test('the server answers and the client hears only a part fails, and is done', async () => {
    proxy.arm(new Trap(callOf('probe'), { side: 'backend', index: 2, fault: 'cut-before' }))
    await expect(insert()).rejects.toThrow()
    expect(await rows()).toBe(1)
  })
})

test('other statements than the watched one pass', async () => {
  const trap = at(0, 'cut-before')
  proxy.arm(trap)
  await client.query('select 1')
  expect(trap.done).toBe(false)
  await expect(insert()).rejects.toThrow()
})
