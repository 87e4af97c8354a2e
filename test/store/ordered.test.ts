import { defineType, Holdfast } from 'holdfast'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { eventually } from '../support/facts.js'
import { by } from '../support/flow.js'
import { moveClock } from '../support/moving-clock.js'

/** Jobs of an ordered key, claimed and ended by hand: whatever happens to the first one, none passes it. */
const steps = defineType({ type: 'steps' })
let queue: BareQueue
let holdfast: Holdfast

beforeAll(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 2 })
  await holdfast.registerTypes([steps])
})

beforeEach(async () => {
  await moveClock(queue.client, '0')
  await rows(
    'truncate holdfast.queue, holdfast.waiting, holdfast.following, holdfast.leases, holdfast.cancellations, holdfast.keys, holdfast.uniques',
  )
  await holdfast.flow.limit('steps', { ordered: true, haltOnDead: false }, by)
})

afterAll(async () => {
  await holdfast.close()
  await queue.close()
})

const rows = async (text: string, values: unknown[] = []) => (await queue.client.query(text, values)).rows
const enqueue = async (key: string, options: object = {}) =>
  (await holdfast.enqueue(steps, {}, { concurrencyKey: key, ...options })).id
const one = async (key: string, count: number, options: object = {}) => {
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await enqueue(key, options))
  return ids
}
const tick = () => rows(`select * from holdfast.tick(100, '-infinity')`)
async function claimed(): Promise<string[]> {
  await tick()
  return (await rows(claim(100), [queue.lane, fromTheHead])).map(({ job_id }) => job_id)
}
/** Ends the attempts that run, all in the same way. */
const end = (move?: string, delayMs = 0) =>
  rows(
    `select holdfast.settle_jobs(l.jobs, array_fill(l.id, array[n]), ${move ? 'array_fill($1::text, array[n])' : `array_remove(array[$1], $1)`},
       ${move ? `array_fill('failed'::holdfast.outcome, array[n])` : `'{}'`}, '{}', array_fill(1::float8, array[n]), array_fill(0::float8, array[n]),
       array_fill($2::float8, array[n]), 1, array[l.id])
     from (select *, cardinality(jobs) as n from holdfast.leases) as l`,
    [move ?? '', delayMs],
  )
const why = async (job: string) => (await holdfast.explain(job))?.gates[0]
const noDrift = async () => expect(await rows('select * from holdfast.find_drift()')).toEqual([])
/** Claims and completes until nothing can be claimed, and says in which order. */
async function drained(): Promise<string[]> {
  const order: string[] = []
  for (let some = await claimed(); some.length > 0; some = await claimed()) {
    order.push(...some)
    await end()
  }
  return order
}

test('jobs of a key are claimed one by one in the order of their enqueue, whatever their priority; keys run beside each other, jobs without a key too', async () => {
  const [a1, a2] = [await enqueue('a', { priority: 1 }), await enqueue('a', { priority: 9 })]
  const b1 = await enqueue('b')
  const free = [await holdfast.enqueue(steps, {}), await holdfast.enqueue(steps, {})].map(({ id }) => id)
  expect((await claimed()).sort()).toEqual([a1, b1, ...free].sort())
  expect(await claimed()).toEqual([])
  expect(await why(a2 as string)).toMatchObject({ gate: 'key_order', heldBy: [a1], why: expect.stringContaining('is running') })
  await end()
  expect(await claimed()).toEqual([a2])
  await end()
  const many = await holdfast.enqueueMany(
    Array.from({ length: 12 }, () => ({ type: 'steps', payload: {}, concurrencyKey: 'many' })),
  )
  expect(await drained()).toEqual(many.map(({ id }) => id))
  await noDrift()
})

test('a job that failed holds its key until it ends, a delayed one from its enqueue on, and explain names it', async () => {
  const [first, second] = (await one('a', 2)) as [string, string]
  const [later, after] = [await enqueue('b', { delay: '1h' }), await enqueue('b')]
  expect(await claimed()).toEqual([first])
  await end('retry', 60_000)
  expect(await claimed()).toEqual([])
  expect(await why(second)).toMatchObject({ gate: 'key_order', heldBy: [first], why: expect.stringContaining('failed') })
  expect(await why(after)).toMatchObject({ gate: 'key_order', heldBy: [later], why: expect.stringContaining('scheduled') })
  // A job of an earlier enqueue whose transaction was committed late does not come between two attempts.
  await rows('update holdfast.bodies set position = -1 where id = $1', [second])
  await rows('select holdfast.follow_key($1)', [second])
  await moveClock(queue.client, '2 minutes')
  expect(await claimed()).toEqual([first])
  await end()
  expect(await claimed()).toEqual([second])
  await end()
  await moveClock(queue.client, '2 hours')
  expect(await drained()).toEqual([later, after])
  await noDrift()
})

describe('when a job of a key dies', () => {
  test('the next one runs; a replay takes its old place, before all that were enqueued after it', async () => {
    const [first, second, third] = (await one('a', 3)) as [string, string, string]
    await claimed()
    await end('exhaust')
    expect(await claimed()).toEqual([second])
    await holdfast.deadLetters.replay(first, by)
    expect(await claimed()).toEqual([])
    await end()
    expect(await drained()).toEqual([first, third])
    await noDrift()
  })

  const releases: Record<string, { release: (dead: string) => Promise<unknown>; runs: boolean }> = {
    'it is replayed': { release: (dead) => holdfast.deadLetters.replay(dead, by), runs: true },
    'it is discarded': { release: (dead) => holdfast.deadLetters.discard(dead, by), runs: false },
    'an operator resumes the key': { release: () => holdfast.flow.resumeKey('steps', 'a', by), runs: false },
  }
  test.each(Object.entries(releases))('its key halts where the type says so, until %s', async (_, { release, runs }) => {
    await holdfast.flow.limit('steps', { haltOnDead: true }, by)
    const [first, second] = (await one('a', 2)) as [string, string]
    const other = await enqueue('b')
    expect((await claimed()).sort()).toEqual([first, other].sort())
    await end('die')
    expect(await claimed()).toEqual([])
    expect(await holdfast.flow.keys('steps', 'a')).toMatchObject([{ key: 'a', halted: { job: first, at: expect.any(Date) } }])
    expect(await why(second)).toMatchObject({ gate: 'key_halted', heldBy: [first], opens: expect.stringContaining('resuming') })
    // Nobody forgets a halt as long as it stands.
    await rows(`select * from holdfast.repair_drift(interval '0', 100)`)
    await release(first)
    expect(await drained()).toEqual(runs ? [first, second] : [second])
    expect((await holdfast.flow.keys('steps', 'a')).filter(({ halted }) => halted)).toEqual([])
  })

  test('of a lost lease, or because it had to start by a time that is over, its key halts as well', async () => {
    await holdfast.flow.limit('steps', { haltOnDead: true }, by)
    const crashing = await enqueue('a', { maxAttempts: 1 })
    const expiring = await enqueue('b', { delay: '1h', startBy: new Date(Date.now() + 60_000) })
    const held = [await enqueue('a'), await enqueue('b')]
    expect(await claimed()).toEqual([crashing])
    await moveClock(queue.client, '10 minutes')
    await rows('select * from holdfast.rescue_leases(10, 100)')
    expect(await claimed()).toEqual([])
    expect((await holdfast.flow.keys('steps')).map(({ halted }) => halted?.job)).toEqual([crashing, expiring])
    // An order that is given up lets all of them go.
    await holdfast.flow.limit('steps', { ordered: false }, by)
    expect((await claimed()).sort()).toEqual(held.sort())
  })
})

test('what operators and producers do to the first job of a key lets no other one pass it', async () => {
  const [first, second, third] = (await one('a', 3, { delay: '1h' })) as [string, string, string]
  await holdfast.runNow(second, by)
  await holdfast.setPriority(third, 9, by)
  await holdfast.runNow(third, by)
  expect(await claimed()).toEqual([])
  await holdfast.runNow(first, by)
  await holdfast.reschedule(first, { delay: '30m' }, by)
  expect(await claimed()).toEqual([])
  expect(await why(third)).toMatchObject({ gate: 'key_order', heldBy: [first] })
  await holdfast.flow.setLane('elsewhere', {}, by, { create: true })
  await holdfast.flow.moveType('steps', 'elsewhere', by)
  await holdfast.flow.moveType('steps', 'default', by)
  await holdfast.flow.pauseType('steps', by)
  await holdfast.flow.resumeType('steps', by)
  expect(await claimed()).toEqual([])
  await holdfast.cancel(first, by)
  expect(await claimed()).toEqual([second])
  // A cancelled handler may still be at work, and holds its key until it has stopped. Resumed, its job takes its old place.
  await holdfast.cancel(second, by)
  expect(await claimed()).toEqual([])
  expect(await why(third)).toMatchObject({ gate: 'key_order', heldBy: [second] })
  await end()
  await holdfast.resume(second, by)
  expect(await drained()).toEqual([second, third])
  await noDrift()
})

test('a job that is replaced keeps its place, also in another key; one that waits behind a unique key holds its place', async () => {
  const unique = { key: 'u', onConflict: 'replace' }
  const [first, second] = [await enqueue('a', { delay: '1h', unique }), await enqueue('a')]
  const [other] = await one('b', 1, { delay: '1h' })
  expect((await holdfast.enqueue(steps, { new: true }, { concurrencyKey: 'b', delay: '1h', unique } as object)).id).toBe(first)
  expect(await claimed()).toEqual([second])
  await end()
  const last = await enqueue('b')
  await moveClock(queue.client, '2 hours')
  expect(await drained()).toEqual([first, other, last])

  const more = { key: 'v', onConflict: 'one_more' }
  const leader = await enqueue('c', { unique: more })
  expect(await claimed()).toEqual([leader])
  const [follower, behind] = [await enqueue('d', { unique: more }), await enqueue('d')]
  expect(await claimed()).toEqual([])
  expect(await why(behind)).toMatchObject({ gate: 'key_order', heldBy: [follower] })
  await end()
  expect(await drained()).toEqual([follower, behind])

  // Revived, a job stands behind the one that has its unique key now; neither waits for the other's place in the key.
  const [dead] = [await enqueue('e', { unique: more })]
  await claimed()
  await end('die')
  const now = await enqueue('e', { unique: more })
  await holdfast.deadLetters.replay(dead, by)
  expect(await drained()).toEqual([now, dead])
  await noDrift()
})

test('a type that becomes ordered puts the jobs it has in order, whatever they wait for; the limit on keys and a word for true are refused', async () => {
  await holdfast.flow.limit('steps', { ordered: false }, by)
  const [first, second, third] = [
    await enqueue('a', { delay: '1h' }),
    await enqueue('a', { priority: 1 }),
    await enqueue('a', { priority: 9 }),
  ]
  await holdfast.flow.limit('steps', { ordered: true }, by)
  expect(await claimed()).toEqual([])
  await holdfast.cancel(first, by)
  expect(await drained()).toEqual([second, third])
  expect(await holdfast.flow.gate('steps')).toMatchObject({ ordered: true, haltOnDead: false })
  await expect(holdfast.flow.limit('steps', { ordered: true, maxRunningPerKey: 2 }, by)).rejects.toThrow(/one job of a key/)
  await expect(holdfast.flow.limit('steps', { ordered: 'yes' as never }, by)).rejects.toThrow(/true or false/)
})

test('a job whose enqueue is under way while its type becomes ordered stands before those that come after it', async () => {
  await holdfast.flow.limit('steps', { ordered: false, maxRunning: 50 }, by)
  const producer = await queue.connect()
  try {
    await producer.query('begin')
    const first = (await holdfast.enqueue(steps, {}, { concurrencyKey: 'a', priority: 1, tx: producer })).id
    const later = (await holdfast.enqueue(steps, {}, { concurrencyKey: 'b', delay: '1h', tx: producer })).id
    const switching = holdfast.flow.limit('steps', { ordered: true }, by)
    const waits = `select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and not granted`
    await eventually(async () => (await rows(waits)).length > 0)
    // Who waits for one producer holds up no other one.
    const second = await enqueue('a', { priority: 9 })
    await producer.query('commit')
    await switching
    const [third, behind] = [await enqueue('a', { priority: 9 }), await enqueue('b')]
    expect(await drained()).toEqual([first, second, third])
    await moveClock(queue.client, '2 hours')
    expect(await drained()).toEqual([later, behind])
    await noDrift()
  } finally {
    await producer.end()
    await holdfast.flow.limit('steps', { maxRunning: null }, by)
  }
})

test('jobs keep the order of their enqueue where their type was not ordered for a time between', async () => {
  const first = await enqueue('a')
  await holdfast.flow.limit('steps', { ordered: false }, by)
  const second = await enqueue('a')
  await holdfast.flow.limit('steps', { ordered: true }, by)
  expect(await drained()).toEqual([first, second])
})

test('a job that expires while its type is put in order is not waited for, and expires after that', async () => {
  await holdfast.flow.limit('steps', { haltOnDead: true }, by)
  const late = await enqueue('a', { startBy: new Date(Date.now() + 60_000) })
  await moveClock(queue.client, '10 minutes')
  const operator = await queue.connect()
  const type = `(select id from holdfast.types where name = 'steps')`
  await operator.query('begin')
  await operator.query(`select holdfast.be_alone(array[${type}], null)`)
  // It would hold the row of the job and wait for the gate, while the operator holds the gate and waits for the row.
  await tick()
  await operator.query(`select holdfast.reorder_keys(${type})`)
  await operator.query('commit')
  await operator.end()
  expect((await holdfast.job(late))?.status).toBe('pending')
  await moveClock(queue.client, '11 minutes')
  await tick()
  expect((await holdfast.job(late))?.status).toBe('dead')
  expect((await holdfast.flow.keys('steps')).map(({ halted }) => halted?.job)).toEqual([late])
})
