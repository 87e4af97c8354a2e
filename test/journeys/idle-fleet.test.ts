import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { expect, onTestFinished, test } from 'vitest'
import { IdleSubscription } from '../../src/claim/idle-subscription.js'
import { FleetTurn } from '../../src/upkeep/fleet-turn.js'
import { Upkeep } from '../../src/upkeep/upkeep.js'
import { eventually } from '../support/facts.js'
import { moveClock } from '../support/moving-clock.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { work } from '../support/small-worker.js'

const pollMs = 40
const lanes = [1, 2]
const me = 1

async function lieDown() {
  const database = await makeObservedDatabase()
  const holdfast = new Holdfast({ connectionString: database.url })
  onTestFinished(() => holdfast.close())
  const others = (lane: number, count: number) =>
    database.sql('insert into holdfast.idle_workers select $1, 100 + n from generate_series(1, $2::integer) as n', [lane, count])
  /** How long a worker rests that has been lying for so long that only the poll can wake it. */
  const restOf = async () => {
    const subscription = new IdleSubscription(insideOf(holdfast).store, me, () => lanes)
    expect(await subscription.nextPollMs(pollMs)).toBe(0)
    await pause(4 * pollMs + 1)
    return subscription.nextPollMs(pollMs)
  }
  return { database, holdfast, others, restOf }
}

test('a worker that sleeps alone in one of its lanes looks at every poll', async () => {
  const { others, restOf } = await lieDown()
  await others(1, 9)
  expect(await restOf()).toBe(pollMs)
})

test.each([
  { idle: 'three', beside: 2, polls: 3 },
  { idle: 'a hundred', beside: 99, polls: 4 },
])('of $idle idle in the same lanes each looks once in $polls polls, or a little sooner', async ({ beside, polls }) => {
  const { others, restOf } = await lieDown()
  for (const lane of lanes) await others(lane, beside)
  const restMs = await restOf()
  expect(restMs).toBeGreaterThanOrEqual(polls * pollMs * 0.75)
  expect(restMs).toBeLessThanOrEqual(polls * pollMs)
})

test('idle workers are called for a job that is due before the next look of any of them, and not for a later one', async () => {
  const { database, holdfast } = await lieDown()
  await holdfast.registerTypes([work()])
  const [lane] = (await database.sql("select lane_id as id from holdfast.types where name = 'work'")) as [{ id: number }]
  await database.sql('insert into holdfast.idle_workers values ($1, $2)', [lane.id, me])
  const hears = await database.connect()
  let calls = 0
  hears.on('notification', () => calls++)
  await hears.query(`listen "holdfast.lane_${lane.id}"`)
  await holdfast.enqueue('work', {}, { delay: '1h' })
  await holdfast.enqueue('work', {}, { delay: '9s' })
  // Calls come in the order of commits.
  await eventually(async () => calls > 0)
  expect(calls).toBe(1)
})

test('one worker of a fleet runs the shared chores; the others ask rarely and write nothing, and one takes over when it is gone or the clock was set back', async () => {
  const { database, holdfast } = await lieDown()
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
