import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { describe, expect, onTestFinished, test } from 'vitest'
import { IdleSubscription } from '../../src/claim/idle-subscription.js'
import { FleetTurn } from '../../src/upkeep/fleet-turn.js'
import { Upkeep } from '../../src/upkeep/upkeep.js'
import { eventually } from '../support/facts.js'
import { moveClock } from '../support/moving-clock.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { quiet, work } from '../support/small-worker.js'

const pollMs = 40
const lanes = [1, 2]
const me = 1

async function makeIdleWorkers() {
  const database = await makeObservedDatabase()
  const holdfast = new Holdfast({ connectionString: database.url })
  onTestFinished(() => holdfast.close())
  const others = (lane: number, count: number) =>
    database.sql('insert into holdfast.idle_workers select $1, 100 + n from generate_series(1, $2::integer) as n', [lane, count])
  /** How long a worker waits until it polls, when it has been idle for so long that only the poll can make it look. */
  const pollOf = async () => {
    const subscription = new IdleSubscription(insideOf(holdfast).store, me, () => lanes)
    expect(await subscription.nextPollMs(pollMs)).toBe(0)
    await pause(4 * pollMs + 1)
    return subscription.nextPollMs(pollMs)
  }
  return { database, holdfast, others, pollOf }
}

test('a worker that sleeps alone in one of its lanes looks at every poll', async () => {
  const { others, pollOf } = await makeIdleWorkers()
  await others(1, 9)
  expect(await pollOf()).toBe(pollMs)
})

test.each([
  { idle: 'three', beside: 2, polls: 3 },
  { idle: 'a hundred', beside: 99, polls: 4 },
])('of $idle idle in the same lanes each looks once in $polls polls, or a little sooner', async ({ beside, polls }) => {
  const { others, pollOf } = await makeIdleWorkers()
  for (const lane of lanes) await others(lane, beside)
  const restMs = await pollOf()
  expect(restMs).toBeGreaterThanOrEqual(polls * pollMs * 0.75)
  expect(restMs).toBeLessThanOrEqual(polls * pollMs)
})

test('idle workers are notified of a job that is due before the next look of any of them, and not for a later one', async () => {
  const { database, holdfast } = await makeIdleWorkers()
  await holdfast.registerTypes([work()])
  const [lane] = (await database.sql("select lane_id as id from holdfast.types where name = 'work'")) as [{ id: number }]
  await database.sql('insert into holdfast.idle_workers values ($1, $2)', [lane.id, me])
  const hears = await database.connect()
  let notifications = 0
  hears.on('notification', () => notifications++)
  await hears.query(`listen "holdfast.lane_${lane.id}"`)
  await holdfast.enqueue('work', {}, { delay: '1h' })
  await holdfast.enqueue('work', {}, { delay: '9s' })
  // Notifications come in the order of commits.
  await eventually(async () => notifications > 0)
  expect(notifications).toBe(1)
})

test('one worker of a fleet runs the shared chores; the others ask rarely and write nothing, and one takes over when it is gone or the clock was set back', async () => {
  const { database, holdfast } = await makeIdleWorkers()
  const clock = await database.connect()
  const turnOf = (worker: number) => new FleetTurn((heldMs) => insideOf(holdfast).store.operate.takeFleetTurn(worker, heldMs))
  const did: string[] = []
  const upkeeps = [1, 2, 3].map((worker) => {
    const chores = ['shared', 'own'].map((name) => ({
      ...{ name, everyMs: 10, ...(name === 'shared' ? { shared: true as const } : {}) },
      async runOnce() {
        did.push(`${name} ${worker}`)
        return { more: false }
      },
    }))
    return new Upkeep(
      chores,
      { asking() {}, answered() {}, gaveUp() {}, failed: (_, error) => did.push(`failed ${error}`) },
      turnOf(worker),
    )
  })
  for (const upkeep of upkeeps) upkeep.start()
  const own = ['own 1', 'own 2', 'own 3']
  await eventually(() => own.every((one) => did.filter((run) => run === one).length > 5))
  await Promise.all(upkeeps.map((upkeep) => upkeep.stop()))
  const [keeper, ...others] = [...new Set(did)].filter((run) => run.startsWith('shared '))
  expect(others).toEqual([])
  expect(did.filter((run) => run.startsWith('failed'))).toEqual([])

  const holder = Number(keeper?.slice('shared '.length))
  const other = holder === 1 ? 2 : 1
  const written = () => database.sql('select xmin::text, xmax::text, held_by from holdfast.fleet_turn')
  const before = await written()
  expect(await turnOf(other).mine()).toBe(false)
  expect(await written()).toEqual(before)
  await moveClock(clock, '46 seconds')
  expect(await turnOf(other).mine()).toBe(true)
  expect(await turnOf(holder).mine()).toBe(false)
  await moveClock(clock, '-1 hour')
  expect(await turnOf(holder).mine()).toBe(true)
  // One that has stopped leaves it at once.
  await database.sql(
    "insert into holdfast.workers (id, name, host, pid, version, stopped_at) overriding system value values ($1, 'w', 'h', 1, '1', holdfast.now())",
    [holder],
  )
  expect(await turnOf(other).mine()).toBe(true)
})

describe('of a large idle fleet', () => {
  /** Workers that are no more than rows, and who hears what is said to them. */
  async function large(fleet: { runs: string; count: number }[]) {
    const { database, holdfast } = await makeIdleWorkers()
    await holdfast.registerTypes([work(), { ...work(), type: 'other' }])
    const [lane] = (await database.sql("select lane_id as id from holdfast.types where name = 'work'")) as [{ id: number }]
    const workers: Record<string, number[]> = {}
    for (const { runs, count } of fleet) {
      const rows = await database.sql(
        `insert into holdfast.workers (name, host, pid, version, types, own_channel)
         select 'w', 'h', n, '1', t.ids, true
         from generate_series(1, $2::integer) as n,
              (select array_agg(id) as ids from holdfast.types where name = any (string_to_array($1, ' and '))) as t returning id`,
        [runs, count],
      )
      workers[runs] = rows.map(({ id }) => id as number)
      await database.sql('insert into holdfast.idle_workers select $1, unnest($2::integer[])', [lane.id, workers[runs]])
    }
    const hears = await database.connect()
    const notifications: string[] = []
    hears.on('notification', ({ channel, payload }) =>
      notifications.push(`${channel.replace(/^holdfast\./, '')} ${payload}`.trim()),
    )
    await hears.query(`listen "holdfast.lane_${lane.id}"`)
    for (const id of Object.values(workers).flat()) await hears.query(`listen "holdfast.worker_${id}"`)
    /** What was said until now: the answer to a statement comes after it. */
    const said = async () => {
      await hears.query('select 1')
      return notifications.splice(0)
    }
    return { database, holdfast, workers, lane: `lane_${lane.id}`, said }
  }

  test('four are notified of one job, each by itself, others for the next, and only such as run its type', async () => {
    const { holdfast, workers, said } = await large([
      { runs: 'work', count: 12 },
      { runs: 'other', count: 12 },
    ])
    const notified = new Set<string>()
    for (let n = 0; n < 20; n++) {
      await holdfast.enqueue('work', {})
      const heard = await said()
      expect(heard).toHaveLength(4)
      for (const channel of heard) notified.add(channel)
    }
    for (const channel of notified) expect(workers.work?.map((id) => `worker_${id} jobs`)).toContain(channel)
    expect(notified.size).toBeGreaterThan(4)
  })

  test('the four are far from one another, so that a host that has just died does not have all of them', async () => {
    const { holdfast, said } = await large([{ runs: 'work', count: 40 }])
    for (let n = 0; n < 20; n++) {
      await holdfast.enqueue('work', {})
      const ids = (await said()).map((channel) => Number(/^worker_(\d+) jobs$/.exec(channel)?.[1])).sort((a, b) => a - b)
      const apart = ids.slice(1).map((id, index) => id - (ids[index] as number))
      expect(Math.min(...apart)).toBe(10)
    }
  })

  test('all are notified of many jobs, by a transaction that commits later, and where none is known to run the type', async () => {
    const { database, holdfast, lane, said } = await large([{ runs: 'other', count: 12 }])
    await holdfast.enqueueMany(Array.from({ length: 20 }, () => ({ type: 'other', payload: {} })))
    expect(await said()).toEqual([lane])
    const client = await database.connect()
    await client.query('begin')
    await holdfast.enqueue('other', {}, { tx: client })
    await client.query('commit')
    expect(await said()).toEqual([lane])
    await holdfast.enqueue('work', {})
    expect(await said()).toEqual([lane])
  })

  test('those are not notified that do not hear it, are gone, or have stopped; and a small fleet is notified as a whole', async () => {
    const { database, holdfast, workers, lane, said } = await large([{ runs: 'work', count: 14 }])
    const [behindHttp, deaf, gone, stopped, ...rest] = workers.work as [number, number, number, number, ...number[]]
    await database.sql('update holdfast.workers set own_channel = false where id = $1', [behindHttp])
    await database.sql('update holdfast.workers set swallowed_at = holdfast.now() where id = $1', [deaf])
    await database.sql("update holdfast.workers set seen_at = holdfast.now() - interval '1 minute' where id = $1", [gone])
    await database.sql('update holdfast.workers set stopped_at = holdfast.now() where id = $1', [stopped])
    for (let n = 0; n < 20; n++) {
      await holdfast.enqueue('work', {})
      for (const channel of await said()) expect(rest.map((id) => `worker_${id} jobs`)).toContain(channel)
    }
    await database.sql('delete from holdfast.idle_workers where worker_id = any ($1)', [rest.slice(0, 4)])
    await holdfast.enqueue('work', {})
    expect(await said()).toEqual([lane])
  })

  test('a worker that is notified by itself starts the job, without a poll', async () => {
    const { database, holdfast, said } = await large([{ runs: 'work', count: 12 }])
    await database.sql('update holdfast.workers set own_channel = false')
    const own = new Holdfast({ connectionString: database.url })
    const worker = await startWorker(own, [work()], { logger: quiet, poll: '60s' })
    onTestFinished(async () => {
      await worker.stop()
      await own.close()
    })
    // It looks again after it has lain down, each time after twice as long: what starts later than that was notified.
    const often = 12
    for (let n = 1; n <= often; n++) {
      await eventually(
        async () => (await database.sql('select from holdfast.idle_workers where worker_id = $1', [worker.id])).length === 1,
      )
      await holdfast.enqueue('work', {})
      await eventually(async () => (await database.counts()).completed === n)
    }
    expect(await said()).toEqual([])
  })

  test('where a worker need not be notified any more, others are of what it may have been notified of', async () => {
    const { holdfast, workers, said } = await large([{ runs: 'work', count: 14 }])
    const [leaving, ...others] = workers.work as [number, ...number[]]
    await insideOf(holdfast).store.unsubscribeIdle(leaving)
    const heard = await said()
    expect(heard).toHaveLength(4)
    for (const channel of heard) expect(others.map((id) => `worker_${id} jobs`)).toContain(channel)
    // It was not subscribed any more, so it had not been notified.
    await insideOf(holdfast).store.unsubscribeIdle(leaving)
    expect(await said()).toEqual([])
  })

  test('those others run all of its types, because it does not know for which of them it was notified', async () => {
    const { database, holdfast, workers, lane, said } = await large([
      { runs: 'work and other', count: 5 },
      { runs: 'other', count: 30 },
    ])
    const [first, second, ...others] = workers['work and other'] as [number, number, ...number[]]
    await insideOf(holdfast).store.unsubscribeIdle(first)
    const heard = await said()
    expect(heard.sort()).toEqual([second, ...others].map((id) => `worker_${id} jobs`).sort())
    await database.sql('delete from holdfast.idle_workers where worker_id = any ($1)', [others])
    await insideOf(holdfast).store.unsubscribeIdle(second)
    expect(await said()).toEqual([lane])
  })

  test('a worker that nobody notifies alone, as behind HTTP or over a Redis, has no others notified', async () => {
    const { database, holdfast, workers, said } = await large([{ runs: 'work', count: 14 }])
    const [leaving] = workers.work as [number]
    await database.sql('update holdfast.workers set own_channel = false where id = $1', [leaving])
    await insideOf(holdfast).store.unsubscribeIdle(leaving)
    expect(await said()).toEqual([])
  })
})
