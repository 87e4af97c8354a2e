import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { defineType, FatalError, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Program } from '../support/holdfast-program.js'

const quiet = { info() {}, warn() {}, error() {} }
const ada = { by: 'ada' }
const week = { completedMs: 7 * 86_400_000, deadMs: 30 * 86_400_000 }

let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client
let directory: string

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  const encryption = { keys: { k1: randomBytes(32).toString('base64') }, current: 'k1' }
  holdfast = new Holdfast({ connectionString: scratch.connectionString, encryption })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  directory = await mkdtemp(join(tmpdir(), 'holdfast-archive-'))
})
afterEach(async () => {
  await sql.end()
  await holdfast.close()
  await scratch.drop()
  await rm(directory, { recursive: true, force: true })
})

const job = defineType({
  type: 'kept',
  maxAttempts: 2,
  backoff: { base: 0, jitter: 0 },
  limits: { breaker: false },
  async run(payload: string, ctx) {
    if (payload === 'dies') throw new FatalError('for good')
    if (payload === 'flaky' && ctx.job.attempt === 1) throw new Error('once')
    return { said: payload }
  },
})
const secret = defineType({ type: 'secret', encrypt: true, run: (payload: { card: string }) => payload })

async function runEverything(): Promise<void> {
  const worker = await startWorker(holdfast, [job, secret], { logger: quiet })
  await vi.waitFor(async () => expect((await sql.query('select from holdfast.live')).rowCount).toBe(0), {
    timeout: 30_000,
    interval: 50,
  })
  await worker.stop()
}

/** Moves the database's clock; time runs on from there. */
async function moveTo(days: number): Promise<void> {
  await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                   as 'select pg_catalog.clock_timestamp() + interval ''${days} days'''`)
  await insideOf(holdfast).store.partitions.make()
}

async function dropWhatHadItsTime(): Promise<string[]> {
  const dropped: string[] = []
  for (;;) {
    const { partitions } = insideOf(holdfast).store
    const day = await partitions.dropOne(week)
    if (day === null) return dropped
    dropped.push(day)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: whatever stands in a line is what the test looks at
type Line = any

/** Archives into memory what waits for it. */
async function archived(): Promise<Line[]> {
  const lines: Line[] = []
  await holdfast.archive(async ({ jobs }) => {
    for await (const { line } of jobs) lines.push(JSON.parse(line))
  })
  return lines
}

async function linesInFiles(): Promise<Line[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.ndjson.gz'))
  const texts = await Promise.all(names.map(async (name) => gunzipSync(await readFile(join(directory, name))).toString()))
  return texts.flatMap((text) => text.split('\n').filter((line) => line !== '')).map((line) => JSON.parse(line))
}

const archiving = () => new Program(directory, ['archive', '--to', directory, '--database-url', scratch.connectionString])

test('a day is dropped only when it has been archived, if the setting says so, and doctor says that it waits', async () => {
  await holdfast.enqueueMany(['flaky', 'dies', 'done'].map((payload) => job.job(payload)))
  await runEverything()
  await holdfast.flow.setSetting('archive_first', 1, ada)
  await moveTo(40)
  const { partitions } = insideOf(holdfast).store

  expect(await dropWhatHadItsTime()).toEqual([])
  expect(await partitions.sweep(week, 1_000)).toBe(0)
  await sql.query('delete from holdfast.retention_ran')
  await partitions.ran(week)
  expect((await sql.query('select from holdfast.retention_ran')).rowCount).toBe(0)
  const codes = async () => (await holdfast.doctor()).findings.map(({ code }) => code)
  expect(await codes()).toContain('archive_behind')

  const lines = await archived()
  expect(
    lines.map(({ type, status, payload, result, attempts }) => [type, status, payload, result, attempts.length]).sort(),
  ).toEqual([
    ['kept', 'completed', 'done', { said: 'done' }, 1],
    ['kept', 'completed', 'flaky', { said: 'flaky' }, 2],
    ['kept', 'dead', 'dies', null, 1],
  ])
  expect(lines.find(({ status }) => status === 'dead')).toMatchObject({ reason: 'fatal', error: { message: 'for good' } })
  expect(await codes()).not.toContain('archive_behind')
  expect((await dropWhatHadItsTime()).map((name) => name.replace(/_\d+$/, ''))).toEqual(
    expect.arrayContaining(['dead_letters', 'history', 'bodies', 'results']),
  )
  await partitions.ran(week)
  expect((await sql.query('select from holdfast.retention_ran')).rowCount).toBe(1)
  expect(await archived()).toEqual([])
})

test('without the setting a day is dropped when it has had its time', async () => {
  await holdfast.enqueue(job, 'done')
  await runEverything()
  await moveTo(40)
  expect(await dropWhatHadItsTime()).not.toEqual([])
})

test('a hook that fails, or does not read a day to its end, has not archived it', async () => {
  await holdfast.enqueueMany(Array.from({ length: 5 }, () => job.job('done')))
  await runEverything()
  await moveTo(2)
  const failing = holdfast.archive(async ({ jobs }) => {
    for await (const _ of jobs) throw new Error('the bucket is full')
  })
  await expect(failing).rejects.toThrow('the bucket is full')
  await expect(holdfast.archive(async () => {})).rejects.toMatchObject({ code: 'conflict' })
  expect(await archived()).toHaveLength(5)
  expect(await archived()).toEqual([])
})

test('pages of a day neither leave a job out nor have one twice', async () => {
  const jobs = await holdfast.enqueueMany(Array.from({ length: 23 }, (_, n) => job.job(n % 4 === 0 ? 'dies' : 'done')))
  await runEverything()
  await moveTo(2)
  const seen: string[] = []
  const days = await holdfast.archive(
    async (day) => {
      for await (const { id } of day.jobs) seen.push(id)
    },
    { atOnce: 3 },
  )
  expect(seen.sort()).toEqual(jobs.map(({ id }) => id).sort())
  expect(days.reduce((sum, day) => sum + day.jobs, 0)).toBe(23)
})

test('what is stored encrypted is encrypted in the archive', async () => {
  await holdfast.enqueue(secret, { card: '4000 1234' })
  await runEverything()
  await moveTo(2)
  const [line] = await archived()
  expect(line).toMatchObject({ type: 'secret', payload: { $enc: { k: 'k1' } }, result: { $enc: { k: 'k1' } } })
  expect(JSON.stringify(line)).not.toContain('4000')
})

test('a payload that SQL wrote over several lines is one line, with its numbers as they were', async () => {
  const { id } = await holdfast.enqueue(job, 'done')
  await runEverything()
  await sql.query(`update holdfast.bodies set payload = E'{"n":\\n 12345678901234567890}' where id = $1`, [id])
  await moveTo(2)
  const texts: string[] = []
  await holdfast.archive(async ({ jobs }) => {
    for await (const { line } of jobs) texts.push(line)
  })
  expect(texts).toHaveLength(1)
  expect(texts[0]).not.toContain('\n')
  expect(texts[0]).toContain('12345678901234567890')
})

test('a job that is forgotten after its day was archived, or while it is being archived, is not in the archive that counts', async () => {
  const [gone, later, stays] = await holdfast.enqueueMany(['done', 'done', 'done'].map((payload) => job.job(payload)))
  await runEverything()
  await moveTo(2)
  expect(await archived()).toHaveLength(3)
  await holdfast.forget(gone?.id as string, ada)

  const runs: string[][] = []
  await holdfast.archive(async ({ jobs }) => {
    const ids: string[] = []
    for await (const { id } of jobs) ids.push(id)
    if (ids.includes(later?.id as string)) await holdfast.forget(later?.id as string, ada)
    runs.push(ids)
  })
  expect(runs.flat()).not.toContain(gone?.id)
  expect(runs.at(-1)).toEqual([stays?.id])
  expect(await archived()).toEqual([])
})

test('a dead letter that was discarded and forgotten leaves the archive of the day on which it died', async () => {
  const { id } = await holdfast.enqueue(job, 'dies')
  await runEverything()
  await moveTo(2)
  expect(await archived()).toMatchObject([{ id, status: 'dead' }])
  await holdfast.deadLetters.discard(id, ada)
  await moveTo(4)
  expect(await archived()).toMatchObject([{ id, status: 'discarded' }])
  await holdfast.forget(id, ada)
  const days: string[] = []
  await holdfast.archive(async ({ day, jobs }) => {
    for await (const _ of jobs) throw new Error('nothing is left of it')
    days.push(day)
  })
  expect(days.length).toBeGreaterThanOrEqual(2)
})

test('holdfast archive that is killed while it writes, and before it notes the day, goes on: every job is in the files once', async () => {
  const jobs = await holdfast.enqueueMany(Array.from({ length: 150 }, (_, n) => job.job(`done ${n}`)))
  await runEverything()
  await holdfast.flow.setSetting('archive_first', 1, ada)
  // The second page waits for the test.
  await sql.query(`alter function holdfast.archive_page(date, uuid, integer) rename to archive_page_itself`)
  await sql.query(`create function holdfast.archive_page(p_day date, p_after uuid, p_limit integer) returns table (id uuid, line text)
    language plpgsql as $$ begin
      if p_after > '00000000-0000-0000-0000-000000000000' then perform pg_advisory_xact_lock(42); end if;
      return query select * from holdfast.archive_page_itself(p_day, p_after, p_limit);
    end $$`)
  await moveTo(40)
  const waiting = (what: string) =>
    vi.waitFor(
      async () => {
        const { rows } = await sql.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and query ~ $1 and datname = current_database()`,
          [what],
        )
        expect(rows).toHaveLength(1)
      },
      { timeout: 30_000, interval: 50 },
    )

  await sql.query('select pg_advisory_lock(42)')
  const first = archiving()
  await waiting('archive_page')
  expect(await first.end('SIGKILL')).toBe('SIGKILL')
  expect((await readdir(directory)).some((name) => name.endsWith('.part'))).toBe(true)
  expect(await linesInFiles()).toEqual([])
  expect(await dropWhatHadItsTime()).toEqual([])
  await sql.query('select pg_advisory_unlock(42)')

  // The file has its name, and the note of it waits.
  await sql.query(`create function holdfast.wait_for_test() returns trigger language plpgsql
                   as $$ begin perform pg_advisory_xact_lock(43); return new; end $$`)
  await sql.query(`create trigger wait_for_test before update on holdfast.archived_days for each row
                   when (new.archived_at is not null) execute function holdfast.wait_for_test()`)
  await sql.query('select pg_advisory_lock(43)')
  const second = archiving()
  await waiting('finish_archive')
  expect(await second.end('SIGKILL')).toBe('SIGKILL')
  expect(await linesInFiles()).not.toEqual([])
  expect(await dropWhatHadItsTime()).toEqual([])
  await sql.query('select pg_advisory_unlock_all()')
  await vi.waitFor(async () => {
    const { rows } = await sql.query(
      `select from pg_stat_activity where query ~ 'finish_archive' and state = 'active' and pid <> pg_backend_pid()`,
    )
    expect(rows).toEqual([])
  })

  const third = archiving()
  expect(await third.ended, third.complaints).toBe(0)
  expect((await readdir(directory)).filter((name) => !name.endsWith('.ndjson.gz'))).toEqual([])
  const ids = (await linesInFiles()).map(({ id }) => id)
  expect(ids.sort()).toEqual(jobs.map(({ id }) => id).sort())
  expect(await dropWhatHadItsTime()).not.toEqual([])
})
