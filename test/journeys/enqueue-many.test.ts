import { defineType, type Holdfast } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { emptied } from '../support/emptied.js'

const note = defineType({ type: 'note', lane: 'interactive', priority: 3, maxAttempts: 7, run() {} })
const other = defineType({ type: 'other', run() {} })
const only = defineType({ type: 'only', unique: { by: ['customer'], onConflict: 'existing' }, run() {} })
const narrow = defineType({ type: 'narrow', limits: { maxRunning: 1 }, run() {} })

let queue: ScratchQueue
let holdfast: Holdfast
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  holdfast = queue.holdfast
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  await holdfast.registerTypes([note, other, only, narrow], { update: true })
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})
beforeEach(() => emptied(sql, 'bodies', 'queue', 'uniques'))

/** What is free to run, in the order of its place in line, with its body. */
async function inLine() {
  const { rows } = await sql.query(`
    select q.job_id as id, t.name as type, l.name as lane, q.priority, q.attempt, b.priority as asked, b.max_attempts as most,
           b.concurrency_key as key, b.type_id = q.type_id as one_type, b.payload::text as payload
    from holdfast.queue as q join holdfast.bodies as b on b.id = q.job_id join holdfast.types as t on t.id = q.type_id
    join holdfast.lanes as l on l.id = q.lane_id where q.pass = 0 order by q.seq`)
  return rows
}

test('jobs of several types in one call each get what their type says, and stand in line as they were handed in', async () => {
  const answers = await holdfast.enqueueMany([
    note.job(0),
    other.job(1, { concurrencyKey: 'k' }),
    note.job(2, { priority: 0 }),
    other.job(3, { priority: 9, maxAttempts: 1 }),
  ])
  const common = { attempt: 1, one_type: true }
  expect(await inLine()).toEqual([
    { ...common, id: answers[0]?.id, type: 'note', lane: 'interactive', priority: 3, asked: 3, most: 7, key: null, payload: '0' },
    { ...common, id: answers[1]?.id, type: 'other', lane: 'default', priority: 5, asked: 5, most: 5, key: 'k', payload: '1' },
    { ...common, id: answers[2]?.id, type: 'note', lane: 'interactive', priority: 0, asked: 0, most: 7, key: null, payload: '2' },
    { ...common, id: answers[3]?.id, type: 'other', lane: 'default', priority: 9, asked: 9, most: 1, key: null, payload: '3' },
  ])
})

test('jobs of one type in one call keep what each of them asks for', async () => {
  await holdfast.enqueueMany([note.job(0), note.job(1, { priority: 9, concurrencyKey: 'k' }), note.job(2, { maxAttempts: 2 })])
  expect(await inLine()).toMatchObject([
    { type: 'note', lane: 'interactive', priority: 3, most: 7, key: null, payload: '0' },
    { type: 'note', lane: 'interactive', priority: 9, most: 7, key: 'k', payload: '1' },
    { type: 'note', lane: 'interactive', priority: 3, most: 2, key: null, payload: '2' },
  ])
})

test('payloads of one call do not run into each other, whatever stands in them', async () => {
  const payloads = [
    '\u001f',
    '\u001f","\u001f',
    'a,b',
    '{"a"}',
    'NULL',
    '',
    '\\',
    '"',
    '\n\t\u0001\u007f',
    'ä€😀\u2028',
    null,
    {},
    [],
    { '\u001f': '\u001f' },
  ]
  await holdfast.enqueueMany(payloads.map((payload) => other.job(payload)))
  expect((await inLine()).map(({ payload }) => JSON.parse(payload))).toEqual(payloads)
})

test('of jobs of one unique type in one call those with the same key are one job', async () => {
  const answers = await holdfast.enqueueMany(['a', 'b', 'a'].map((customer) => ({ type: 'only', payload: { customer } })))
  expect(answers.map(({ status }) => status)).toEqual(['created', 'created', 'existing'])
  expect(answers[2]?.id).toBe(answers[0]?.id)
  expect((await inLine()).map(({ id }) => id)).toEqual([answers[0]?.id, answers[1]?.id])
})

test.each(['idempotency', 'unique'] as const)(
  'of one call with %s keys, free, taken and repeated ones beside jobs without, each is answered for itself',
  async (kind) => {
    const job = (n: number, key?: string) =>
      other.job(n, key ? (kind === 'unique' ? { unique: { key, onConflict: 'existing' } } : { idempotencyKey: key }) : {})
    const [taken] = await holdfast.enqueueMany([job(0, `${kind} b`)])
    const keys = [`${kind} z`, `${kind} b`, undefined, `${kind} a`, `${kind} z`, `${kind} a`]
    const answers = await holdfast.enqueueMany(keys.map((key, n) => job(n + 1, key)))
    expect(answers.map(({ status }) => status)).toEqual(['created', 'existing', 'created', 'created', 'existing', 'existing'])
    expect([1, 4, 5].map((n) => answers[n]?.id)).toEqual([taken?.id, answers[0]?.id, answers[3]?.id])
    expect((await inLine()).map(({ payload }) => Number(payload)).sort()).toEqual([0, 1, 3, 4])
    const stored = await sql.query('select coalesce(idempotency_key, unique_key) as key from holdfast.bodies where id = $1', [
      answers[0]?.id,
    ])
    expect(stored.rows).toEqual([{ key: kind === 'unique' ? 'key unique z' : 'idempotency z' }])
  },
)

test('of more jobs with keys than a statement takes, the one that is left over is stored like the others', async () => {
  const answers = await holdfast.enqueueMany(
    Array.from({ length: 5_001 }, (_, n) => other.job(n, { idempotencyKey: `left over ${n}` })),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['created']))
  expect((await inLine()).length).toBe(5_001)
})

test('of several jobs of one call that replace each other the last one stands, under the key that the next call meets', async () => {
  const job = (n: number) => other.job(n, { unique: { key: 'k', onConflict: 'replace' } })
  const answers = await holdfast.enqueueMany([job(0), job(1), other.job(9, { unique: { key: 'free' } }), job(2)])
  expect(answers.map(({ status }) => status)).toEqual(['created', 'replaced', 'created', 'replaced'])
  expect((await inLine()).map(({ payload }) => payload).sort()).toEqual(['2', '9'])
  expect(await holdfast.enqueueMany([job(3), job(4)])).toEqual([0, 1].map(() => ({ id: answers[0]?.id, status: 'replaced' })))
})

test('a single job of a unique type that is enqueued by its name alone answers with the one that stands', async () => {
  const first = await holdfast.enqueue('only', { customer: 'a' })
  expect(first.status).toBe('created')
  expect(await holdfast.enqueue('only', { customer: 'a' })).toEqual({ id: first.id, status: 'existing' })
})

test('jobs of one limited type in one call all stand before its gate', async () => {
  const answers = await holdfast.enqueueMany([0, 1, 2].map((n) => narrow.job(n)))
  const { rows } = await sql.query('select job_id as id from holdfast.queue where pass > 0 order by job_id')
  expect(rows.map(({ id }) => id)).toEqual(answers.map(({ id }) => id))
  expect(await inLine()).toEqual([])
})
