import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defineType } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emptied } from '../support/emptied.js'

const ran: unknown[] = []
const sendEmail = defineType({
  type: 'send_email',
  lane: 'interactive',
  priority: 6,
  maxAttempts: 4,
  run(payload) {
    ran.push(payload)
  },
})

let queue: ScratchQueue
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
  await queue.holdfast.registerTypes([sendEmail])
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})
beforeEach(async () => {
  ran.length = 0
  await emptied(sql, 'bodies', 'queue', 'waiting', 'history', 'idempotency_keys')
})

async function enqueue(type: string | null, payload: string | null, options?: unknown): Promise<{ id: string; status: string }> {
  const { rows } =
    options === undefined
      ? await sql.query('select * from holdfast.enqueue($1, $2)', [type, payload])
      : await sql.query('select * from holdfast.enqueue($1, $2, $3)', [type, payload, JSON.stringify(options)])
  return rows[0]
}

async function stored(id: string) {
  return (await sql.query('select * from holdfast.jobs where id = $1', [id])).rows[0]
}

async function countJobs(): Promise<number> {
  return (await sql.query('select count(*)::int as n from holdfast.jobs')).rows[0].n
}

describe('select holdfast.enqueue(type, payload, options)', () => {
  test('stores a job with what its type says, which a worker runs', async () => {
    const { id, status } = await enqueue('send_email', '{"to": "ada@example.com"}')
    expect(status).toBe('created')
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/)
    expect(await stored(id)).toMatchObject({ status: 'pending', lane: 'interactive', priority: 6, max_attempts: 4, attempt: 1 })
    expect((await queue.drain([sendEmail])).completed.map((job) => job.id)).toEqual([id])
    expect(ran).toEqual([{ to: 'ada@example.com' }])
  })

  test('takes every option', async () => {
    const id = '01890000-0000-7000-8000-0000000000ab'
    const options = { id, priority: 9, max_attempts: 20, run_at: '2100-01-02T03:04:05.678Z', idempotency_key: 'k' }
    expect(await enqueue('send_email', '{}', options)).toEqual({ id, status: 'created' })
    expect(await stored(id)).toMatchObject({
      status: 'scheduled',
      priority: 9,
      max_attempts: 20,
      due_at: new Date('2100-01-02T03:04:05.678Z'),
      idempotency_key: 'k',
    })
  })

  test.each([
    ['5 minutes', 300_000],
    ['90s', 90_000],
    ['200ms', 200],
    ['1h30m', 5_400_000],
    ['7d', 604_800_000],
    ['1.5 hours', 5_400_000],
    ['1 hour 2 min 3 sec 4 milliseconds', 3_723_004],
    ['PT2H', 7_200_000],
  ])('understands a delay of %s', async (delay, ms) => {
    const row = await stored((await enqueue('send_email', '{}', { delay })).id)
    expect(row.due_at - row.created_at).toBe(ms)
  })

  test('takes null for an option as if it were left out, and null for all of them', async () => {
    const options = { id: null, priority: null, max_attempts: null, delay: null, run_at: null, idempotency_key: null }
    const { id } = await enqueue('send_email', '{}', options)
    expect(await stored(id)).toMatchObject({ priority: 6, max_attempts: 4, status: 'pending' })
    const { rows } = await sql.query(`select * from holdfast.enqueue('send_email', '{}', null)`)
    expect(rows[0].status).toBe('created')
  })

  test('answers a second enqueue with the key or the id with the first job', async () => {
    const first = await enqueue('send_email', '1', { idempotency_key: 'k' })
    expect(await enqueue('send_email', '2', { idempotency_key: 'k' })).toEqual({ id: first.id, status: 'existing' })
    expect(await enqueue('send_email', '1', { id: first.id })).toEqual({ id: first.id, status: 'existing' })
    await expect(enqueue('send_email', '3', { id: first.id })).rejects.toMatchObject({ code: 'HF410' })
    expect(await queue.holdfast.enqueue(sendEmail, 4, { idempotencyKey: 'k' })).toEqual({ id: first.id, status: 'existing' })
    expect(await countJobs()).toBe(1)
  })

  test('says which option it does not know, and which there are', async () => {
    await expect(enqueue('send_email', '{}', { prio: 1 })).rejects.toMatchObject({
      code: 'HF002',
      message: 'unknown option "prio"',
      hint: 'The options are id, priority, max_attempts, delay, run_at, idempotency_key, concurrency_key, approval, unique, tags, start_by, expire_in and version.',
    })
  })

  test.each([
    ['a priority that is no number', { priority: 'high' }, /^option priority cannot be "high": invalid input syntax/],
    ['a priority of 10', { priority: 10 }, /^option priority is 10; it must be a whole number from 0 to 9$/],
    ['a priority of 5.5', { priority: 5.5 }, /^option priority cannot be 5.5/],
    ['a priority of 99999', { priority: 99_999 }, /^option priority cannot be 99999: value "99999" is out of range/],
    ['no attempts', { max_attempts: 0 }, /^option max_attempts is 0; it must be a whole number from 1 to 20$/],
    ['a delay that is none', { delay: 'soon' }, /^option delay cannot be "soon"/],
    ['a delay as a bare number, which would be seconds here and milliseconds in the SDK', { delay: 5 }, /must have a unit/],
    ['a delay as a text without a unit', { delay: '5' }, /^option delay is "5"; it must have a unit/],
    ['a negative delay', { delay: '-1 hour' }, /^option delay is "-1 hour"; it must lie between 0 and five years$/],
    ['a delay of a century', { delay: '100 years' }, /between 0 and five years/],
    ['a time that is none', { run_at: '2030-02-31' }, /^option run_at cannot be "2030-02-31"/],
    ['the end of time', { run_at: 'infinity' }, /between the years 2000 and 2199/],
    ['a delay and a time', { delay: '1h', run_at: '2030-01-01' }, /^delay and run_at exclude each other$/],
    ['an empty key', { idempotency_key: '' }, /^option idempotency_key is ""; it must have 1 to 500 characters$/],
    ['a key of 501 characters', { idempotency_key: 'x'.repeat(501) }, /1 to 500 characters/],
    ['an id that is none', { id: 'seven' }, /^option id cannot be "seven"/],
    ['an id of version 4', { id: 'b7a5d0c2-5c3e-4d7a-9a43-0d9a86a3a5f1' }, /must be a UUIDv7; for keys of your own/],
    ['an array of options', ['priority'], /^the options are a JSON array, not an object$/],
  ])('refuses %s', async (_what, options, message) => {
    const refused = enqueue('send_email', '{}', options)
    await expect(refused).rejects.toMatchObject({ code: 'HF002', message: expect.stringMatching(message) })
    expect(await countJobs()).toBe(0)
  })

  test('refuses a type nobody registered, and no type at all', async () => {
    await expect(enqueue('send_emial', '{}')).rejects.toMatchObject({
      code: 'HF001',
      detail: expect.stringContaining('send_email'),
    })
    await expect(enqueue(null, '{}')).rejects.toMatchObject({ code: 'HF001' })
    expect(await countJobs()).toBe(0)
  })

  test('refuses no payload at all, and takes a payload that is null', async () => {
    await expect(enqueue('send_email', null)).rejects.toMatchObject({
      code: 'HF002',
      message: expect.stringMatching(/has the payload {}/),
    })
    expect((await enqueue('send_email', 'null')).status).toBe('created')
  })
})

describe('where the SQL function is used', () => {
  test('in a transaction that rolls back it leaves nothing', async () => {
    await sql.query('begin')
    await enqueue('send_email', '{}', { idempotency_key: 'undone' })
    await sql.query('rollback')
    expect(await countJobs()).toBe(0)
    expect((await enqueue('send_email', '{}', { idempotency_key: 'undone' })).status).toBe('created')
  })

  test('in a trigger it enqueues one job for each row, and none when the statement fails', async () => {
    await sql.query(`
      create table users (id int primary key, email text not null);
      create function welcome() returns trigger language plpgsql as $$
      begin
        perform holdfast.enqueue('send_email', jsonb_build_object('to', new.email),
                                 jsonb_build_object('idempotency_key', 'welcome:' || new.id, 'delay', '1 minute'));
        return new;
      end $$;
      create trigger welcome after insert on users for each row execute function welcome()`)
    await sql.query(`insert into users select n, n || '@example.com' from generate_series(1, 100) as n`)
    await expect(sql.query(`insert into users values (101, 'new@example.com'), (1, 'again@example.com')`)).rejects.toThrow(
      'duplicate',
    )
    const jobs = await queue.enqueued(sendEmail)
    expect(jobs.map((job) => job.idempotencyKey)).toEqual(Array.from({ length: 100 }, (_, n) => `welcome:${n + 1}`))
    await queue.clock.advance('1m')
    expect((await queue.drain([sendEmail])).completed).toHaveLength(100)
  })

  test('from psql it prints the id and what happened', async () => {
    const text = `select status from holdfast.enqueue('send_email', '{"to": "ada@example.com"}', '{"priority": 1}')`
    expect(await psql(text)).toBe('created')
    expect(await queue.enqueued(sendEmail)).toMatchObject([{ payload: { to: 'ada@example.com' }, priority: 1 }])
  })

  test('for a whole query it enqueues as many jobs as there are rows', async () => {
    await sql.query(`select holdfast.enqueue('send_email', to_jsonb(n)) from generate_series(1, 1000) as n`)
    expect(await countJobs()).toBe(1_000)
  })
})

/** Through the real psql where there is one. */
async function psql(text: string): Promise<string> {
  try {
    return (await promisify(execFile)('psql', [queue.connectionString, '-XAtc', text])).stdout.trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return Object.values((await sql.query(text)).rows[0]).join('|')
  }
}
