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

test('jobs that went through a limit without keys leave no note of their arrival behind', async () => {
  const limited = defineType({ type: 'limited', run: async () => {} })
  await holdfast.registerTypes([limited])
  await holdfast.flow.limit('limited', { maxRunning: 1 })
  for (let i = 0; i < 30; i++) await holdfast.enqueue(limited, {})
  expect(await count('dirty_keys')).toBeGreaterThan(0)
  const quiet = { info() {}, warn() {}, error: console.error }
  const worker = await startWorker(holdfast, [limited], { logger: quiet })
  try {
    await eventually(async () => expect(await count('history')).toBe(30))
  } finally {
    await worker.stop()
  }
  expect(await count('dirty_keys')).toBe(0)
})

test('a key that is stopped while a claim is under way keeps back even the jobs that claim had locked', async () => {
  const limited = defineType({ type: 'limited', run: async () => {} })
  await holdfast.registerTypes([limited])
  await holdfast.flow.limit('limited', { fair: true })
  await holdfast.enqueueMany(Array.from({ length: 50 }, () => limited.job({}, { concurrencyKey: 'a' })))
  await queue.client.query('select holdfast.admit_waiting()')
  expect(await count('queue')).toBe(50)

  // In the middle of a claim_jobs that takes only one of those it has locked.
  const claimer = await queue.connect()
  await claimer.query('begin')
  await claimer.query('select pg_advisory_xact_lock_shared(holdfast.claims_lock())')
  await claimer.query('select from holdfast.queue for update')
  const stopped = queue.client.query(
    `select holdfast.stop_for(t.id, 'a', interval '1 hour') from holdfast.types as t where t.name = 'limited'`,
  )
  const waiting = `select from pg_locks where locktype = 'advisory' and not granted`
  await eventually(async () => (await claimer.query(waiting)).rowCount === 1)
  await claimer.query('update holdfast.queue set lease_id = 1 where seq = (select min(seq) from holdfast.queue)')
  await claimer.query('commit')
  await stopped
  expect([await count('queue'), await count('gated')]).toEqual([1, 49])
})

test('a claim leaves the admitted jobs that it cannot start to the next one, and free jobs between them keep their place', async () => {
  const [limited, free] = [defineType({ type: 'limited' }), defineType({ type: 'free' })]
  await holdfast.registerTypes([limited, free])
  await holdfast.flow.limit('limited', { fair: true })
  const ids: string[] = []
  for (const type of [limited, limited, free, limited, free, limited, limited]) {
    ids.push((await holdfast.enqueue(type, {})).id)
    await queue.client.query('select holdfast.admit_waiting()')
  }
  const claim = `select unnest(ids) as id from holdfast.claim_jobs(1, $1, null, 500, 60000, $2, 2)`
  const claimers = [await queue.connect(), await queue.connect(), await queue.connect()]
  const claimed: string[][] = []
  // None of them commits before the last has claimed.
  for (const claimer of claimers) {
    await claimer.query('begin')
    const { rows } = await claimer.query<{ id: string }>(claim, [queue.lane, fromTheHead])
    claimed.push(rows.map(({ id }) => id))
  }
  expect(claimed).toEqual([ids.slice(0, 2), ids.slice(2, 6), ids.slice(6)])
  for (const claimer of claimers) await claimer.query('commit')
})

test('jobs of a claim whose answer was lost go back before their gate, so that no more start than a rate allows', async () => {
  const rated = defineType({ type: 'rated' })
  await holdfast.registerTypes([rated])
  await holdfast.flow.limit('rated', { rate: { count: 2, per: '10s' } })
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
  expect(await count('gated')).toBe(0)
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
  const limited = holdfast.flow.limit('bare', { maxRunning: 2 })
  await blockedOrDone(queue.client, limited)
  await saver.query('commit')
  await limited
  expect(await count('admissions')).toBe(2)
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
  const limited = holdfast.flow.limit('bare', { maxRunning: 2 })
  await blockedOrDone(queue.client, limited)
  await settler.query('commit')
  await limited
  expect(await count('admissions')).toBe(0)
})
