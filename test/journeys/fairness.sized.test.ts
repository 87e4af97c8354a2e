import type pg from 'pg'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startTogether } from '../support/flow.js'
import { costOf } from '../support/plans.js'
import { makeQueue, type Queue, work } from '../support/queue.js'
import { sized } from '../support/sized.js'

/** As many jobs of one key as asked, as if they had been enqueued: straight into the tables, which takes seconds less. */
async function addJobs(client: pg.Client, count: number, key: (n: string) => string): Promise<void> {
  await client.query(
    `with made as (
       select n, ${key('n')} as key,
         (lpad(to_hex((extract(epoch from holdfast.now()) * 1000)::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid as id
       from generate_series(1 + (select count(*) from holdfast.bodies), $1 + (select count(*) from holdfast.bodies)) as n
     ), type as (
       select t.id, t.lane_id from holdfast.types as t where t.name = 'work'
     ), stored as (
       insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, concurrency_key, payload)
       select m.id, t.id, 5, 5, holdfast.now(), m.key, json_build_object('key', m.key) from made as m, type as t
     )
     insert into holdfast.queue (seq, ready_at, job_id, type_id, lane_id, priority, attempt, pass, concurrency_key)
     select holdfast.gate_position(holdfast.now(), 5, interval '1 minute'), holdfast.now(), m.id, t.id, t.lane_id, 5, 1, 1, m.key
     from made as m, type as t`,
    [count],
  )
  await client.query('analyze holdfast.queue')
}

async function fairQueue(limits: object = {}): Promise<{ queue: Queue; client: pg.Client }> {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.limit('work', { fair: true, ...limits }, { by: 'ada' })
  return { queue, client: await queue.connect() }
}

const hot = sized({ sample: 20_000, whole: 100_000 })

test(`one key's ${hot} jobs do not starve the next key's one`, async () => {
  const { queue, client } = await fairQueue()
  await addJobs(client, hot, () => "'hot'")
  await startTogether(queue, 3)
  await eventually(() => queue.ledger.starts().length > 100)
  const { id } = await queue.holdfast.enqueue(work, { key: 'cold' }, { concurrencyKey: 'cold' })
  // Leases are counted instead of starts: how many jobs two workers run while the third is kept from a processor says nothing.
  const [mark] = await queue.sql('select last_value from holdfast.lease_seq')
  await eventually(() => queue.ledger.starts(id).length === 1)
  const turn = BigInt(queue.ledger.starts(id)[0]?.fence as string)
  const ahead = queue.ledger.starts().filter(({ fence }) => BigInt(fence) > BigInt(mark?.last_value) && BigInt(fence) < turn)
  // What each of the three workers had asked for at that moment.
  expect(ahead.length).toBeLessThanOrEqual(400)
})

test('weights hold: a key of weight 3 starts three times as often as one of weight 1', async () => {
  const { queue, client } = await fairQueue({ maxRunning: 4 })
  await queue.holdfast.flow.setWeight('work', 'heavy', 3, { by: 'ada' })
  await addJobs(client, 2_000, (n) => `case when ${n} % 2 = 0 then 'heavy' else 'light' end`)
  await startTogether(queue, 2)
  await eventually(() => queue.ledger.starts().length >= 400)
  const counted = queue.ledger
    .starts()
    .slice(0, 400)
    .filter(({ key }) => key === 'heavy').length
  expect(counted).toBeGreaterThan(270)
  expect(counted).toBeLessThan(330)
})

test('a key that was paused for a long time comes back without a claim to the turns it missed', async () => {
  const { queue, client } = await fairQueue({ maxRunning: 2 })
  await addJobs(client, 1_000, (n) => `case when ${n} % 2 = 0 then 'away' else 'here' end`)
  await queue.holdfast.flow.pauseKey('work', 'away', { by: 'ada' })
  await startTogether(queue, 2)
  await eventually(() => queue.ledger.starts().length >= 100)
  await queue.holdfast.flow.resumeKey('work', 'away', { by: 'ada' })
  await eventually(() => queue.ledger.starts().filter(({ key }) => key === 'away').length >= 60)
  const since = queue.ledger.starts()
  const back = since.slice(since.findIndex(({ key }) => key === 'away')).slice(0, 60)
  expect(back.filter(({ key }) => key === 'here').length).toBeGreaterThan(20)
})

/** Pages looked at to claim one job and to settle it, on average. */
async function pagesPerJob(client: pg.Client, jobs: number): Promise<number> {
  const claim =
    'select lease, ids from holdfast.claim_jobs(1, 1::smallint, null, 1, 60000, array_fill(0, array[10])::bigint[], 1)'
  let pages = 0
  for (let n = 0; n < jobs; n++) {
    await client.query('begin')
    pages += (await costOf(client, claim)).pages
    const { rows } = await client.query('select l.id, l.jobs from holdfast.leases as l order by l.id desc limit 1')
    const settle = `select * from holdfast.settle_jobs($1::uuid[], array[$2::bigint], '{null}', '{null}', '{null}', '{1}', '{0}',
      '{null}', 1, array[$2::bigint])`
    pages += (await costOf(client, settle, [rows[0].jobs, rows[0].id])).pages
    await client.query('commit')
  }
  return pages / jobs
}

test(`a claim and its settle cost no more than three times as much with a hot key of ${hot} and 1,000 cold keys`, async () => {
  const { client } = await fairQueue()
  await addJobs(client, 60, () => "'only'")
  await pagesPerJob(client, 5)
  const empty = await pagesPerJob(client, 20)
  await client.query('truncate holdfast.queue, holdfast.gate_leases, holdfast.leases')
  await addJobs(client, hot, () => "'hot'")
  await addJobs(client, 1_000, (n) => `'cold ' || ${n}`)
  await eventually(async () => {
    const full = await pagesPerJob(client, 10)
    if (full > 3 * empty) throw new Error(`${full} pages instead of ${empty}`)
    return true
  })
})
