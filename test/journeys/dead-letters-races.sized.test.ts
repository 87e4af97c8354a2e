import { Holdfast, type Moved } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/facts.js'
import { sized } from '../support/sized.js'

const raced = sized({ sample: 60, whole: 200 })
const many = sized({ sample: 1_200, whole: 2_500 })
const month = { completedMs: 7 * 86_400_000, deadMs: 30 * 86_400_000 }
let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString, connections: 12 })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  await sql.query(`insert into holdfast.types (name, lane_id) select 'raced', id from holdfast.lanes where name = 'default'`)
})
afterEach(async () => {
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

async function dead(count: number, payload: unknown = {}): Promise<string[]> {
  const jobs = await holdfast.enqueueMany(Array.from({ length: count }, () => ({ type: 'raced', payload })))
  await sql.query(`with gone as (delete from holdfast.queue returning *)
    insert into holdfast.dead_letters select job_id, holdfast.now(), type_id, priority, attempt, 'fatal', '{}' from gone`)
  return jobs.map(({ id }) => id)
}

async function moveClock(days: number): Promise<void> {
  await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                   as 'select pg_catalog.clock_timestamp() + interval ''${days} days'''`)
}

/** How often each job stands in the tables a job can stand in. */
async function standings(): Promise<{ id: string; places: string[] }[]> {
  const { rows } = await sql.query(`
    select b.id, array(select 'queue' from holdfast.queue where job_id = b.id union all select 'dead' from holdfast.dead_letters where job_id = b.id
      union all select 'waiting' from holdfast.waiting where job_id = b.id
      union all select outcome::text from holdfast.history where job_id = b.id) as places
    from holdfast.bodies as b`)
  return rows
}

describe('at the same moment', () => {
  it('of two replays and a discard of one job exactly one is done, and the others say what became of it', {
    timeout: 120_000,
  }, async () => {
    const ids = await dead(raced)
    const answers = new Map<string, Moved[]>(ids.map((id) => [id, []]))
    const ask = async (id: string, how: 'replay' | 'discard', by: string) =>
      answers.get(id)?.push(await holdfast.deadLetters[how](id, { by }))
    // A few at a time, so that those that race for one job go out together.
    for (let at = 0; at < ids.length; at += 4) {
      await Promise.all(
        ids.slice(at, at + 4).flatMap((id, i) => {
          const all = [() => ask(id, 'replay', 'ada'), () => ask(id, 'discard', 'bob'), () => ask(id, 'replay', 'eve')]
          return [...all.slice(i % 3), ...all.slice(0, i % 3)].map((go) => go())
        }),
      )
    }
    const stands = new Map((await standings()).map(({ id, places }) => [id, places]))
    let discarded = 0
    for (const [id, given] of answers) {
      const winner = given.filter(({ done }) => done)
      expect(winner).toHaveLength(1)
      const status = winner[0]?.status
      expect(stands.get(id)).toEqual([status === 'discarded' ? 'discarded' : 'queue'])
      discarded += status === 'discarded' ? 1 : 0
      for (const { done, was, because } of given) {
        if (!done)
          expect(`${was}: ${because}`).toMatch(
            /^(discarded: it was already discarded|pending: it was already replayed by (ada|eve) and is pending)$/,
          )
      }
    }
    // Both won, or nothing was raced.
    expect(discarded).toBeGreaterThan(0)
    expect(discarded).toBeLessThan(raced)
    const told = await sql.query('select count(*)::int as n, count(distinct job_id)::int as jobs from holdfast.moves')
    expect(told.rows).toEqual([{ n: raced - discarded, jobs: raced - discarded }])
  })

  it('of two replays and a discard of many, each job is moved by one of them, and none waits for another for ever', async () => {
    await dead(many)
    const [first, second, third] = await Promise.all([
      holdfast.deadLetters.replayMany({ all: true }, { by: 'ada' }),
      holdfast.deadLetters.discardMany({ all: true }, { by: 'bob' }),
      holdfast.deadLetters.replayMany({ type: 'raced' }, { by: 'eve' }),
    ])
    expect(first.done + second.done + third.done).toBe(many)
    const places = (await standings()).map((job) => job.places)
    expect(places.every((where) => where.length === 1)).toBe(true)
    expect(places.filter(([place]) => place === 'discarded')).toHaveLength(second.done)
    const { rows } = await sql.query(`select deadlocks::int as n from pg_stat_database where datname = current_database()`)
    expect(rows).toEqual([{ n: 0 }])
  })

  it('a replay that is under way keeps the end of keeping from taking the job: the drop gives up, and comes again', async () => {
    const [id] = (await dead(1, { kept: true })) as [string]
    await moveClock(40)
    const replaying = new pg.Client({ connectionString: scratch.connectionString })
    await replaying.connect()
    await replaying.query('begin')
    await replaying.query(`select * from holdfast.replay_dead(array[$1::uuid], null, holdfast.actor('ada'))`, [id])
    await expect(insideOf(holdfast).store.partitions.dropOne(month)).rejects.toMatchObject({ code: '55P03' })
    await replaying.query('commit')
    await replaying.end()
    while ((await insideOf(holdfast).store.partitions.dropOne(month)) !== null);
    await insideOf(holdfast).store.partitions.sweep(month, 1_000)
    expect(await holdfast.job(id)).toMatchObject({ status: 'pending', payload: { kept: true } })
  })

  it('a replay that comes while the day of its dead letter is dropped says that the job is gone', async () => {
    const [id] = (await dead(1)) as [string]
    await moveClock(40)
    const dropping = new pg.Client({ connectionString: scratch.connectionString })
    await dropping.connect()
    await dropping.query('begin')
    // Dead letters go first, and their bodies when nothing refers to them any more.
    for (const _ of ['dead_letters', 'bodies']) {
      await dropping.query(`select holdfast.drop_oldest_partition(interval '7 days', interval '30 days')`)
    }
    const replay = holdfast.deadLetters.replay(id, { by: 'ada' }).then(String, (error) => error.code)
    await eventually(async () => {
      const { rowCount } = await sql.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%replay_dead%'`,
      )
      return rowCount === 1
    })
    await dropping.query('commit')
    await dropping.end()
    expect(await replay).toBe('not_found')
    // The body may go with a later drop; nothing stands for it any more.
    expect((await standings()).flatMap(({ places }) => places)).toEqual([])
  })

  it('a replay finds a dead letter that was just carried into the partition of its day', async () => {
    const [id] = (await dead(1)) as [string]
    await sql.query(
      `with gone as (delete from holdfast.dead_letters where job_id = $1 returning *)
      insert into holdfast.dead_letters select job_id, died_at + interval '20 days', type_id, priority, attempt, reason, error from gone`,
      [id],
    )
    const day = (await sql.query(`select (died_at at time zone 'UTC')::date::text as day from holdfast.dead_letters`)).rows[0].day
    const carrying = new pg.Client({ connectionString: scratch.connectionString })
    await carrying.connect()
    await carrying.query('begin')
    expect((await carrying.query(`select holdfast.make_partition('dead_letters', $1::date) as made`, [day])).rows).toEqual([
      { made: true },
    ])
    const replay = holdfast.deadLetters.replay(id, { by: 'ada' })
    await eventually(
      async () =>
        (await sql.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
          .rowCount === 1,
    )
    await carrying.query('commit')
    await carrying.end()
    expect(await replay).toMatchObject({ done: true, status: 'pending' })
  })
})
