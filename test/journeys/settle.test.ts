import { setTimeout as pause } from 'node:timers/promises'
import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../src/job/settlement.js'
import { addOrphans } from '../support/expired-leases.js'
import { eventually } from '../support/facts.js'
import { makeQueue, openQueue, type Queue, work } from '../support/queue.js'
import { openTcpProxy } from '../support/severed-proxy.js'
import { startHere } from '../support/worker-here.js'

const many = (count: number) => Array.from({ length: count }, (_, n) => work.job({ n }))

async function allCompleted(queue: Queue, count: number): Promise<void> {
  await eventually(
    async () => {
      const [row] = await queue.sql("select count(*)::int as done from holdfast.jobs where status = 'completed'")
      return row?.done === count
    },
    { within: 60_000 },
  )
}

test('many attempts are settled in few transactions, each with its row in history', async () => {
  const queue = await makeQueue()
  await queue.holdfast.enqueueMany(many(2_000))
  await startHere(queue, [defineType({ type: 'work', run() {} })], { concurrency: 100 })
  await allCompleted(queue, 2_000)
  const [row] = await queue.sql(
    'select count(*)::int as rows, count(distinct xmin::text)::int as transactions from holdfast.history',
  )
  expect(row?.rows).toBe(2_000)
  expect(row?.transactions).toBeLessThan(500)
})

describe('a result the database refuses', () => {
  test.each(['first', 'last'])(
    'keeps no other from being written, and its job runs again after its lease: the %s to end',
    async (place) => {
      const queue = await makeQueue()
      const jobs = (await queue.holdfast.enqueueMany(many(10))).map(({ id }) => id)
      const poison = jobs[place === 'first' ? 0 : 9] as string
      await queue.sql(`create function refuse() returns trigger language plpgsql as 'begin raise exception ''refused''; end'`)
      await queue.sql(`create trigger refuse before insert on holdfast.history for each row
                     when (new.outcome = 'completed' and new.attempt = 1 and new.job_id = '${poison}') execute function refuse()`)
      const run = async ({ n }: { n: number }) => pause(n * 10)
      await startHere(queue, [defineType({ type: 'work', run: run as () => Promise<void> })], { lease: '3s', concurrency: 10 })
      await allCompleted(queue, 10)
      const again = await queue.sql('select job_id, attempt, outcome from holdfast.history where job_id in (select job_id from holdfast.history where attempt > 1) order by attempt') // biome-ignore format: one statement
      expect(again).toEqual([
        { job_id: poison, attempt: 1, outcome: 'lease_expired' },
        { job_id: poison, attempt: 2, outcome: 'completed' },
      ])
      await eventually(async () => (await queue.sql('select from holdfast.leases')).length === 0)
    },
    60_000,
  )
})

test('a settle whose answer is lost on the way is tried again, changes nothing twice, and is not taken for late', async () => {
  const queue = await makeQueue()
  const proxy = await openTcpProxy(queue.url)
  const worker = await queue.worker({ concurrency: 5, lease: '30s' }, { database: proxy.url })
  const lost = proxy.loseAnswerTo('settleJobs')
  const jobs = await queue.holdfast.enqueueMany(many(5))
  await lost
  await allCompleted(queue, 5)
  expect(queue.ledger.starts()).toHaveLength(5)
  for (const { id } of jobs) {
    expect((await queue.holdfast.job(id))?.attempts).toMatchObject([{ attempt: 1, outcome: 'completed' }])
  }
  await eventually(async () => (await queue.sql('select from holdfast.leases')).length === 0)
  await eventually(() => worker.said.filter(({ event }) => event === 'job.completed').length === 5)
  expect(worker.said.filter(({ event }) => event === 'settle.late')).toEqual([])
})

test('the connection is killed in the middle of settling, again and again: no state without history, no job run twice', async () => {
  const queue = await makeQueue()
  await queue.sql(`create function dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(0.001); return new; end'`)
  await queue.sql('create trigger dawdle before insert on holdfast.history for each row execute function dawdle()')
  const ran = new Map<string, number>()
  const run = (_payload: unknown, { job }: { job: { id: string; attempt: number } }) => {
    ran.set(job.id, (ran.get(job.id) ?? 0) + 1)
    if (job.attempt === 1) throw new Error('on its last attempt')
  }
  await queue.holdfast.enqueueMany(Array.from({ length: 300 }, () => work.job({}, { maxAttempts: 1 })))
  await startHere(queue, [defineType({ type: 'work', run })], { lease: '1m', concurrency: 50 })
  let kills = 0
  await eventually(
    async () => {
      const killed = await queue.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like '-- settleJobs%' and state = 'active' and datname = current_database()",
      )
      kills += killed.length
      // Every job stands in exactly one place, in every snapshot.
      const [row] = await queue.sql(`
        select id as astray from (
          select id from holdfast.bodies
          union all select job_id from holdfast.queue
          union all select h.job_id from holdfast.history as h join holdfast.dead_letters using (job_id) where h.outcome = 'failed'
        ) as places group by id having count(*) <> 2`)
      expect(row).toBeUndefined()
      const [dead] = await queue.sql('select count(*)::int as dead from holdfast.dead_letters')
      // Let it come through in the end: a settle that is killed every time never would.
      return kills >= 8 || dead?.dead === 300
    },
    { within: 60_000, every: 10 },
  )
  await eventually(async () => (await queue.sql('select from holdfast.dead_letters')).length === 300)
  expect(kills).toBeGreaterThan(0)
  expect([...ran.values()].filter((times) => times > 1)).toEqual([])
  const [history] = await queue.sql('select count(*)::int as rows, count(distinct job_id)::int as jobs from holdfast.history')
  expect(history).toEqual({ rows: 300, jobs: 300 })
}, 120_000)

test('a settle under the old lease is told apart from one under the new lease of the same job', async () => {
  const queue = await makeQueue()
  const [job] = await addOrphans(queue, { leases: 1 })
  const [old] = await queue.sql('select id, worker_id from holdfast.leases')
  await queue.sql('select holdfast.rescue_leases(1, 1)')
  const [claimed] = await queue.sql(
    'select lease as lease_id from holdfast.claim_jobs($1, 1::smallint, null, 1, 60000, array_fill(0, array[10])::bigint[])',
    [old?.worker_id],
  )
  const lost = await queue.sql(
    `select job_id as job, lease_id as lease from holdfast.settle_jobs(array[$1, $1]::uuid[], array[$2, $3]::bigint[],
       '{complete,complete}', '{completed,completed}', '{null,null}', '{0,0}', '{0,0}', '{null,null}', $4, array[$2, $3]::bigint[])`,
    [job, old?.id, claimed?.lease_id, old?.worker_id],
  )
  expect(lost).toEqual([{ job, lease: old?.id }])
  expect((await queue.holdfast.job(job as string))?.attempts.map(({ outcome }) => outcome)).toEqual([
    'lease_expired',
    'completed',
  ])
})

test('a listener that throws disturbs neither the settling nor the worker', async () => {
  const queue = await makeQueue()
  const worker = await startHere(queue, [defineType({ type: 'work', run() {} })])
  for (const name of ['job.completed', 'settle.late', 'lease.lost'] as const) {
    worker.events.on(name, () => {
      throw new Error('a listener threw')
    })
  }
  await queue.holdfast.enqueueMany(many(50))
  await allCompleted(queue, 50)
  expect((await queue.sql('select from holdfast.history')).length).toBe(50)
})

test('the database is frozen for three leases while handlers finish: every result is accepted or fenced off', async () => {
  const queue = await makeQueue()
  const proxy = await openTcpProxy(queue.url)
  const frozen = await queue.worker({ concurrency: 200 }, { database: proxy.url })
  await queue.holdfast.enqueueMany(Array.from({ length: 400 }, () => work.job({ ms: 300 })))
  await eventually(() => queue.ledger.finishes().length > 50)
  proxy.freeze()
  const [since] = await queue.sql('select now() as frozen')
  const other = openQueue(queue.url)
  const rescuer = await other.worker({ concurrency: 200 })
  await eventually(
    async () => (await queue.sql("select now() > $1::timestamptz + interval '6s' as over", [since?.frozen]))[0]?.over,
  )
  proxy.thaw()
  await allCompleted(queue, 400)
  expect(frozen.gone()).toBe(false)
  const [rows] = await queue.sql(
    "select count(*)::int as rows, count(distinct job_id)::int as jobs from holdfast.history where outcome = 'completed'",
  )
  expect(rows).toEqual({ rows: 400, jobs: 400 })
  expect(rescuer.said.some(({ event }) => event === 'lease.rescued')).toBe(true)
  // The one that was frozen works again.
  await rescuer.kill()
  await queue.holdfast.enqueue(work, {})
  await allCompleted(queue, 401)
}, 120_000)

test('a settle that is tried again is taken for written only where its own lease was settled, with that result', async () => {
  const queue = await makeQueue()
  const { store } = insideOf(queue.holdfast)
  const { id } = await queue.holdfast.enqueue(work, { n: 1 })
  const lane = (await queue.sql('select lane_id from holdfast.types'))[0]?.lane_id
  const claim = async () => {
    const [row] = await queue.sql(
      `select ids[1]::text as id, lease::text from holdfast.claim_jobs(7, ${lane}::smallint, null, 1, 60000, array_fill(0::bigint, array[10]))`,
    )
    expect(row?.id).toBe(id)
    return row?.lease as string
  }
  const settle = async (lease: string, settlement: Settlement) =>
    (await store.settle(7, [{ job: { id, lease }, settlement, startedAtMs: 0, endedAtMs: 1 }], 2, [])).map(({ why }) => why)
  const completed = { move: 'complete', outcome: 'completed', delayMs: null, failure: null } as const
  const first = await claim()
  expect(await settle(first, { ...completed, move: 'hand_back', outcome: 'handed_back' })).toEqual([])
  const second = await claim()
  expect(await settle(second, completed)).toEqual([])
  expect(await settle(second, completed)).toEqual(['written'])
  expect(await settle(first, completed)).toEqual(['lost'])
  expect(await settle(second, { ...completed, move: 'die', outcome: 'failed' })).toEqual(['lost'])
})
