import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { blockedOrDone } from '../support/blocked.js'
import { eventually } from '../support/facts.js'
import { by } from '../support/flow.js'
import { moveClock } from '../support/moving-clock.js'

/** What gates leave in the database. */
let queue: BareQueue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 2 })
})

afterEach(async () => {
  await holdfast.close()
  await queue.close()
})

const count = async (table: string) => Number((await queue.client.query(`select count(*) from holdfast.${table}`)).rows[0].count)

test('jobs that went through a limit leave nothing behind: the next claim takes away the notes of their leases', async () => {
  const limited = defineType({ type: 'limited', run: async () => {} })
  await holdfast.registerTypes([limited])
  await holdfast.flow.limit('limited', { maxRunning: 1 }, { by: 'ada' })
  for (let i = 0; i < 30; i++) await holdfast.enqueue(limited, {})
  const quiet = { info() {}, warn() {}, error: console.error }
  const worker = await startWorker(holdfast, [limited], { logger: quiet })
  try {
    await eventually(async () => expect(await count('history')).toBe(30))
  } finally {
    await worker.stop()
  }
  expect(await count('leases')).toBe(0)
  await holdfast.enqueue(limited, {})
  expect((await queue.client.query(claim(10), [queue.lane, fromTheHead])).rowCount).toBe(1)
  expect(await count('gate_leases')).toBe(1)
})

test('a key that is stopped while a claim through its gate is under way is stopped when that has ended, and none starts after', async () => {
  const limited = defineType({ type: 'limited', run: async () => {} })
  await holdfast.registerTypes([limited])
  await holdfast.flow.limit('limited', { fair: true }, { by: 'ada' })
  await holdfast.enqueueMany(Array.from({ length: 50 }, () => limited.job({}, { concurrencyKey: 'a' })))
  const claimer = await queue.connect()
  await claimer.query('begin')
  expect((await claimer.query(claim(10), [queue.lane, fromTheHead])).rowCount).toBe(10)
  const stopped = queue.client.query(
    `select holdfast.stop_for(t.id, 'a', interval '1 hour') from holdfast.types as t where t.name = 'limited'`,
  )
  await blockedOrDone(claimer, stopped)
  await claimer.query('commit')
  await stopped
  expect((await queue.client.query(claim(10), [queue.lane, fromTheHead])).rowCount).toBe(0)
})

test('claims under way at the same time never take more through a gate than it lets through, and free jobs go on meanwhile', async () => {
  const [limited, free] = [defineType({ type: 'limited' }), defineType({ type: 'free' })]
  await holdfast.registerTypes([limited, free])
  await holdfast.flow.limit('limited', { maxRunning: 3 }, { by: 'ada' })
  await holdfast.enqueueMany([...Array(5).fill(limited.job({})), ...Array(5).fill(free.job({}))])
  const claimers = [await queue.connect(), await queue.connect(), await queue.connect()]
  const claims = claimers.map(async (claimer) => (await claimer.query(claim(4), [queue.lane, fromTheHead])).rowCount)
  expect((await Promise.all(claims)).reduce((sum, taken) => (sum as number) + (taken as number), 0)).toBe(8)
  expect((await queue.client.query('select from holdfast.queue where pass > 0 and lease_id is not null')).rowCount).toBe(3)
})

test('a claim that comes by a type twice, because free jobs are as old, takes no more of it than its limit', async () => {
  const [limited, free] = [defineType({ type: 'limited' }), defineType({ type: 'free' })]
  await holdfast.registerTypes([limited, free])
  await holdfast.flow.limit('limited', { maxRunning: 10, fair: true }, { by: 'ada' })
  await holdfast.enqueueMany(Array.from({ length: 30 }, (_, n) => limited.job({}, { concurrencyKey: `key ${n}` })))
  await holdfast.enqueueMany([free.job({}), free.job({})])
  expect((await queue.client.query(claim(16), [queue.lane, fromTheHead])).rowCount).toBe(12)
  expect((await queue.client.query('select from holdfast.queue where pass > 0 and lease_id is not null')).rowCount).toBe(10)
})

test('jobs of a claim whose answer was lost go back before their gate, so that no more start than a rate allows', async () => {
  const rated = defineType({ type: 'rated' })
  await holdfast.registerTypes([rated])
  await holdfast.flow.limit('rated', { rate: { count: 2, per: '10s' } }, { by: 'ada' })
  for (let i = 0; i < 4; i++) await holdfast.enqueue(rated, {})
  const worker = await queue.client.query(
    `insert into holdfast.workers (name, host, pid, version) values ('deaf', 'here', 1, '0') returning id`,
  )
  const { id } = worker.rows[0]
  const claimed = async () =>
    (
      await queue.client.query('select unnest(ids) from holdfast.claim_jobs($1, $2, null, 100, 60000, $3)', [
        id,
        queue.lane,
        fromTheHead,
      ])
    ).rows
  const promote = () => queue.client.query(`select * from holdfast.tick(100, '-infinity')`)
  await promote()
  expect(await claimed()).toHaveLength(2)

  // Nobody heard of it, and until that is noticed the next two may start.
  await moveClock(queue.client, '11 seconds')
  await promote()
  expect(await insideOf(holdfast).store.releaseUnacknowledged(id, [])).toBe(2)
  expect(await claimed()).toHaveLength(2)
  await promote()
  expect(await claimed()).toHaveLength(0)

  await moveClock(queue.client, '22 seconds')
  await promote()
  expect(await claimed()).toHaveLength(2)
  expect((await queue.client.query('select from holdfast.queue where lease_id is null')).rowCount).toBe(0)
})

test.each([
  ['a type that is paused', () => holdfast.flow.pauseType('bare', by)],
  ['a key that is paused', () => holdfast.flow.pauseKey('bare', '', by)],
  ['a breaker that is held open', () => holdfast.flow.breaker('bare', 'hold_open', by)],
])('%s while a claim is under way lets nothing start once the call has ended', async (_, stop) => {
  await queue.fill(2)
  const claimer = await queue.connect()
  await claimer.query('begin')
  await claimer.query(claim(1), [queue.lane, fromTheHead])
  const running = async () => (await queue.client.query('select from holdfast.queue where lease_id is not null')).rowCount
  const stopped = stop().then(running)
  await blockedOrDone(queue.client, stopped)
  await claimer.query('commit')
  expect(await stopped).toBe(1)
  await queue.client.query(claim(1), [queue.lane, fromTheHead])
  expect(await running()).toBe(1)
})

test('a limit counts a job that runs and is writing its checkpoint at that moment', async () => {
  await queue.fill(2)
  await queue.client.query(claim(2), [queue.lane, fromTheHead])
  const saver = await queue.connect()
  await saver.query('begin')
  await saver.query(`select holdfast.save_checkpoint(job_id, lease_id, '1') from holdfast.queue limit 1`)
  const limited = holdfast.flow.limit('bare', { maxRunning: 2 }, { by: 'ada' })
  await blockedOrDone(queue.client, limited)
  await saver.query('commit')
  await limited
  expect((await queue.client.query('select jobs from holdfast.gate_leases')).rows).toEqual([{ jobs: 2 }])
  await queue.fill(2)
  await queue.client.query(`select * from holdfast.tick(100, '-infinity')`)
  expect((await queue.client.query(claim(2), [queue.lane, fromTheHead])).rows).toEqual([])
})

test('a limit and a settle that is under way wait for each other, and the job that ended takes no slot', async () => {
  await queue.fill(2)
  await queue.client.query(claim(1), [queue.lane, fromTheHead])
  const settler = await queue.connect()
  await settler.query('begin')
  await settler.query(
    `select holdfast.settle_jobs(jobs, array[id], '{}', '{}', '{}', '{1}', '{0}', '{}', 1, array[id]) from holdfast.leases`,
  )
  const limited = holdfast.flow.limit('bare', { maxRunning: 2 }, { by: 'ada' })
  await blockedOrDone(queue.client, limited)
  await settler.query('commit')
  await limited
  expect(await count('gate_leases')).toBe(0)
})
