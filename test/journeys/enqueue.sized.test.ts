import { defineType, type Enqueued, Holdfast } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emptied } from '../support/emptied.js'
import { sized } from '../support/sized.js'

const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const note = defineType({ type: 'note', lane: 'interactive', priority: 3, maxAttempts: 7, run() {} })
const other = defineType({ type: 'other', run() {} })

let queue: ScratchQueue
let holdfast: Holdfast
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  holdfast = queue.holdfast
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  await holdfast.registerTypes([note, other])
  // Jobs are counted at most once a second, and the many of one test are gone before the next.
  await sql.query('delete from holdfast.depth_limits')
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})
beforeEach(() => emptied(sql, 'bodies', 'queue', 'waiting', 'idempotency_keys'))

async function count(table: 'bodies' | 'queue' | 'waiting' | 'idempotency_keys'): Promise<number> {
  return (await sql.query(`select count(*)::int as n from holdfast.${table}`)).rows[0].n
}

/** What another connection sees, right away. */
async function stored(id: string) {
  const { rows } = await sql.query('select *, payload::text as payload from holdfast.jobs where id = $1', [id])
  return rows[0]
}

describe('enqueueing one job', () => {
  test('answers with a UUIDv7, and by then everybody can see the job, with what its type says', async () => {
    const { id, status } = await holdfast.enqueue(note, { text: 'hello' })
    expect(status).toBe('created')
    expect(id).toMatch(uuidv7)
    expect(await stored(id)).toMatchObject({
      type: 'note',
      status: 'pending',
      lane: 'interactive',
      priority: 3,
      attempt: 1,
      max_attempts: 7,
      payload: '{"text":"hello"}',
      idempotency_key: null,
    })
  })

  test('takes everything a job may ask for', async () => {
    const id = '01890000-0000-7000-8000-0000000000aa'
    const options = { id, priority: 9, maxAttempts: 1, delay: '1h', idempotencyKey: 'größe 漢字' }
    expect(await holdfast.enqueue(note, null, options)).toEqual({ id, status: 'created' })
    const row = await stored(id)
    expect(row).toMatchObject({ status: 'scheduled', priority: 9, max_attempts: 1, idempotency_key: 'größe 漢字' })
    expect(row.due_at - row.created_at).toBe(3_600_000)
  })

  test('keeps the very time of runAt, and runs at once what is due already', async () => {
    const runAt = new Date('2100-02-03T04:05:06.789Z')
    expect(await stored((await holdfast.enqueue(note, 1, { runAt })).id)).toMatchObject({ status: 'scheduled', due_at: runAt })
    const past = new Date(Date.now() - 86_400_000)
    expect(await stored((await holdfast.enqueue(note, 1, { runAt: past })).id)).toMatchObject({ status: 'pending' })
    expect(await stored((await holdfast.enqueue(note, 1, { delay: 0 })).id)).toMatchObject({ status: 'pending' })
  })

  test.each([
    ['a priority of 10', { priority: 10 }, 'priority', /is 10; it must be a whole number from 0 to 9/],
    ['half a priority', { priority: 2.5 }, 'priority', /whole number/],
    ['no attempts', { maxAttempts: 0 }, 'maxAttempts', /from 1 to 20/],
    ['21 attempts', { maxAttempts: 21 }, 'maxAttempts', /from 1 to 20/],
    ['a delay without a unit', { delay: '5' }, 'delay', /has no unit/],
    ['a negative delay', { delay: -1 }, 'delay', /negative/],
    ['a delay of 16 years', { delay: '6000d' }, 'delay', /five years/],
    ['a delay and a time', { delay: '1m', runAt: new Date() }, 'delay', /exclude each other/],
    ['a time that is none', { runAt: new Date('never') }, 'runAt', /valid Date/],
    ['a time before computers', { runAt: new Date(0) }, 'runAt', /year 1970/],
    ['an empty key', { idempotencyKey: '' }, 'idempotencyKey', /1 to 500 characters/],
    ['a key of 501 characters', { idempotencyKey: 'x'.repeat(501) }, 'idempotencyKey', /1 to 500 characters/],
    ['a key with NUL', { idempotencyKey: 'a\0b' }, 'idempotencyKey', /without NUL/],
    [
      'an id of version 4',
      { id: 'b7a5d0c2-5c3e-4d7a-9a43-0d9a86a3a5f1' },
      'id',
      /must be a UUIDv7\. For a key of your own use idempotencyKey/,
    ],
    ['an id that is none', { id: 'seven' }, 'id', /UUIDv7/],
    ['an option with a slip of the pen', { prioritty: 1 }, 'prioritty', /did you mean "priority"/],
  ])('refuses %s and stores nothing', async (_what, options, field, message) => {
    const refused = holdfast.enqueue(note, {}, options as object)
    await expect(refused).rejects.toMatchObject({ code: 'invalid_option', field, message: expect.stringMatching(message) })
    expect(await count('bodies')).toBe(0)
  })
})

describe('enqueueing many jobs', () => {
  const many = sized({ sample: 30_000, whole: 200_000 })

  test(`stores ${many} in one call and answers in their order`, async () => {
    const answers = await holdfast.enqueueMany(Array.from({ length: many }, (_, n) => note.job({ n })))
    expect(answers).toHaveLength(many)
    expect(answers.every((answer) => answer.status === 'created')).toBe(true)
    expect(await count('bodies')).toBe(many)
    // First in first out, too: the place in line is the place in the call.
    const { rows } = await sql.query(`
      select string_agg(q.job_id::text, ',' order by q.seq) as ids,
             bool_and((b.payload ->> 'n')::int = q.place) as in_order
      from (select *, row_number() over (order by seq) - 1 as place from holdfast.queue) as q
      join holdfast.bodies as b on b.id = q.job_id`)
    expect(rows[0].in_order).toBe(true)
    expect(rows[0].ids).toBe(answers.map((answer) => answer.id).join())
    expect(rows[0].ids).toBe(
      answers
        .map((answer) => answer.id)
        .sort()
        .join(),
    )
  }, 120_000)

  test('has nothing to do with an empty list', async () => {
    expect(await holdfast.enqueueMany([])).toEqual([])
  })

  test('takes types, options and due times as they come', async () => {
    const answers = await holdfast.enqueueMany([
      note.job('a', { priority: 0 }),
      other.job('b', { delay: '1d' }),
      { type: 'note', payload: 'by name' },
      { type: other, payload: 'by hand', maxAttempts: 2 },
    ])
    const rows = []
    for (const { id } of answers) rows.push(await stored(id))
    expect(rows).toMatchObject([
      { type: 'note', priority: 0, status: 'pending' },
      { type: 'other', priority: 5, status: 'scheduled', lane: 'default' },
      { type: 'note', priority: 3, max_attempts: 7, payload: '"by name"' },
      { type: 'other', max_attempts: 2 },
    ])
  })

  test('says of each whether it was created or existed', async () => {
    const first = await holdfast.enqueue(note, 1, { idempotencyKey: 'k1' })
    const answers = await holdfast.enqueueMany([
      note.job(0),
      note.job(1, { idempotencyKey: 'k1' }),
      note.job(2, { idempotencyKey: 'k2' }),
      note.job(1, { id: first.id }),
    ])
    expect(answers.map((answer) => answer.status)).toEqual(['created', 'existing', 'created', 'existing'])
    expect([answers[1]?.id, answers[3]?.id]).toEqual([first.id, first.id])
    expect(await count('bodies')).toBe(3)
    expect(await count('queue')).toBe(3)
  })

  test.each([
    ['a payload that cannot be stored', () => note.job({ when: new Date() }), 'invalid_payload'],
    ['an option that is wrong', () => note.job(1, { priority: 77 }), 'invalid_option'],
    ['a type nobody registered', () => ({ type: 'nobody', payload: 1 }), 'unknown_type'],
  ])('stores nothing at all when one of 12,000 has %s', async (_what, bad, code) => {
    const requests = [...Array.from({ length: 11_999 }, (_, n) => note.job(n, { idempotencyKey: `all-or-none:${n}` })), bad()]
    await expect(holdfast.enqueueMany(requests)).rejects.toMatchObject({ code })
    for (const table of ['bodies', 'queue', 'waiting', 'idempotency_keys'] as const) expect(await count(table)).toBe(0)
  })

  test('needs no more memory for one statement than a few megabytes: 700 jobs of 60 KB each arrive whole', async () => {
    const text = 'ä"\\'.repeat(10_000)
    const answers = await holdfast.enqueueMany(Array.from({ length: 700 }, (_, n) => note.job({ n, text })))
    expect(answers).toHaveLength(700)
    const { rows } = await sql.query(
      `select count(*)::int as n, bool_and(payload ->> 'text' = $1) as whole from holdfast.bodies`,
      [text],
    )
    expect(rows[0]).toEqual({ n: 700, whole: true })
  }, 120_000)

  test('gives ids that only grow, across calls and however they interleave', async () => {
    const calls = Array.from({ length: 20 }, () => holdfast.enqueueMany(Array.from({ length: 50 }, () => note.job(0))))
    const ids = (await Promise.all(calls)).map((answers: Enqueued[]) => answers.map((answer) => answer.id))
    for (const of of ids) expect(of).toEqual([...of].sort())
    expect(new Set(ids.flat()).size).toBe(1_000)
  })
})

describe('a producer', () => {
  test('is told where there is no database to enqueue into', async () => {
    const nowhere = new Holdfast({ connectionString: 'postgres://nobody@127.0.0.1:1/nothing', retryEnqueueFor: 0 })
    await expect(nowhere.enqueue('note', 1)).rejects.toMatchObject({ code: 'database_unavailable', retryable: true })
    await nowhere.close()
  })

  test('is told to migrate where the schema is missing', async () => {
    const url = new URL(queue.connectionString)
    url.pathname = '/postgres'
    const empty = new Holdfast({ connectionString: url.href })
    await expect(empty.enqueue('note', 1)).rejects.toMatchObject({
      code: 'schema_outdated',
      message: expect.stringMatching(/holdfast migrate/),
    })
    await empty.close()
  })
})
