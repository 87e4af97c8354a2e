import { defineType, FatalError } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import type pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const mixed = defineType({
  type: 'mixed',
  maxAttempts: 3,
  backoff: { base: '1h', cap: '1h', jitter: 0 },
  async run(payload) {
    if (payload === 'fails') throw new Error('for now')
    if (payload === 'dies') throw new FatalError('for good')
  },
})
const long = defineType({
  type: 'long',
  run: (_payload, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
})

let serving: Serving
beforeEach(async () => {
  serving = await serve()
})
afterEach(() => serving.end())

// biome-ignore lint/suspicious/noExplicitAny: whatever the server answers is what the test looks at
async function status(): Promise<any> {
  return (await serving.ask('/status')).json()
}

test('every status is counted, by type and in all, and the newest jobs come first with their last error', async () => {
  const { holdfast } = serving
  const worker = await startWorker(holdfast, [mixed, long], { logger: quiet, name: 'w', drain: 0 })
  await serving.comeBack({ worker })
  await holdfast.registerTypes([defineType({ type: 'idle' })], { update: true })
  await holdfast.enqueueMany(['well', 'well', 'fails', 'dies'].map((payload) => mixed.job(payload)))
  await holdfast.enqueue(mixed, 'later', { delay: '1h' })
  await holdfast.enqueue('idle', {})
  const { id } = await holdfast.enqueue(long, {})
  const of = (counts: Record<string, { count: number }>) =>
    Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, value.count]))
  await vi.waitFor(
    async () =>
      expect(of((await status()).counts)).toEqual({
        pending: 1,
        processing: 1,
        failed: 1,
        dead: 1,
        completed: 2,
        scheduled: 1,
        blocked: 0,
      }),
    { timeout: 20_000 },
  )
  // Counts and jobs are read beside each other, so that the jobs may be of a moment before.
  const {
    types,
    jobs,
    worker: seen,
  } = await eventually(async () => {
    const now = await status()
    return now.jobs[0].status === 'processing' && now
  })
  const nothing = { pending: 0, processing: 0, failed: 0, dead: 0, completed: 0, scheduled: 0, blocked: 0 }
  expect(types.map(({ type, ...counts }: { type: string }) => ({ type, ...of(counts as never) }))).toEqual([
    { ...nothing, type: 'holdfast:bulk' },
    { ...nothing, type: 'holdfast:webhook' },
    { ...nothing, type: 'idle', pending: 1 },
    { ...nothing, type: 'long', processing: 1 },
    { ...nothing, type: 'mixed', failed: 1, dead: 1, completed: 2, scheduled: 1, blocked: 0 },
  ])
  expect(jobs[0]).toMatchObject({ id, type: 'long', status: 'processing', attempt: 1, error: null })
  expect(jobs[0].age_ms).toBeGreaterThan(0)
  expect(jobs.map((job: { status: string; error: string | null }) => `${job.status} ${job.error}`)).toEqual([
    'processing null',
    'pending null',
    'scheduled null',
    'dead FatalError: for good',
    'failed Error: for now',
    'completed null',
    'completed null',
  ])
  expect(seen).toMatchObject({ name: 'w', status: 'ok', running: 1, unwritten: 0, reason: null })
  await worker.stop()
})

test('counts stop where counting would cost too much, and say so', async () => {
  const { holdfast } = serving
  await holdfast.registerTypes([mixed], { update: true })
  await holdfast.enqueueMany(Array.from({ length: 10_050 }, () => mixed.job('well')))
  await holdfast.enqueueMany([mixed.job('well', { delay: '1h' })])
  const { counts } = await status()
  expect(counts.pending).toEqual({ count: 10_000, more: true })
  expect(counts.scheduled).toEqual({ count: 1, more: false })
})

test('history is read by index only, however much of it there is', async () => {
  const { holdfast, sql } = serving
  await holdfast.registerTypes([mixed], { update: true })
  // 20,000 jobs of the last ten minutes, all completed, and as many from the three days before, all day long: a partition of a few rows is
  // read in order, which costs nothing.
  await sql.query(`select holdfast.make_partition(family, (holdfast.now() at time zone 'UTC')::date - n)
    from generate_series(1, 3) as n, unnest('{bodies,history,dead_letters}'::text[]) as family`)
  await sql.query(`
    create temp table made as
    select (substr(holdfast.first_id_at(at)::text, 1, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid as id, at
    from (select holdfast.now() - n * interval '25 ms' as at from generate_series(1, 20000) as n
          union all select (holdfast.now() at time zone 'UTC')::date::timestamp at time zone 'UTC' - n * interval '12 s'
          from generate_series(1, 20000) as n) as times`)
  await sql.query(`insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, payload)
                   select id, (select id from holdfast.types), 5, 5, at, '{}' from made`)
  await sql.query(`insert into holdfast.history (job_id, ended_at, started_at, outcome, attempt)
                   select id, at + interval '1 second', at, 'completed', 1 from made`)
  await sql.query('vacuum analyze')
  const before = await rowsReadInOrder(sql)
  const seen: unknown[] = []
  // More often than a statement is planned anew, and with enough time between to be asked of the database each time.
  for (let round = 0; round < 8; round++) {
    await serving.comeBack()
    const { counts, jobs } = await status()
    seen.push([counts.completed, jobs.length])
  }
  expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify([{ count: 1000, more: true }, 25])]))
  await holdfast.close()
  await vi.waitFor(async () => expect(await connections(sql)).toBe(1), { timeout: 20_000 })
  expect(await rowsReadInOrder(sql)).toEqual(before)
})

test('a hundred pages that ask at once are one question to the database', async () => {
  const { sql } = serving
  await serving.holdfast.registerTypes([mixed], { update: true })
  await sql.query('create table asked (at timestamptz)')
  // The function that every such question calls leaves a trace.
  await sql.query(`create or replace function holdfast.now() returns timestamptz language plpgsql volatile as
                   $$ begin insert into asked values (clock_timestamp()); return clock_timestamp(); end $$`)
  await Promise.all(Array.from({ length: 100 }, () => status()))
  const { rows } = await sql.query('select count(*)::int as n from asked')
  expect(rows[0].n).toBeGreaterThan(0)
  expect(rows[0].n).toBeLessThan(10)
})

async function rowsReadInOrder(sql: pg.Client): Promise<unknown[]> {
  // What this connection itself has read, in its vacuum, is told a second later otherwise. PostgreSQL 14 has no such call.
  await sql.query('select pg_stat_force_next_flush()').catch(() => {})
  await sql.query('select pg_stat_clear_snapshot()')
  const { rows } = await sql.query(`select relname, seq_tup_read from pg_stat_user_tables
                                    where relname ~ '^(bodies|history)' order by relname`)
  return rows
}

/** Sessions write what they read when they end. */
async function connections(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query(`select count(*)::int as n from pg_stat_activity
                                    where datname = current_database() and backend_type = 'client backend'`)
  return rows[0].n
}
