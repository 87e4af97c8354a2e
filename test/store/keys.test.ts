import { defineType, Holdfast } from 'holdfast'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { by } from '../support/flow.js'
import { moveClock } from '../support/moving-clock.js'

/** What holds back single keys of a type, beside a breaker, a clock that goes back, and time. */
const keyed = defineType({ type: 'keyed' })
let queue: BareQueue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 2 })
  await holdfast.registerTypes([keyed])
})

afterEach(async () => {
  await holdfast.close()
  await queue.close()
})

const rows = async (text: string) => (await queue.client.query(text)).rows
const enqueue = async (key: string) => (await holdfast.enqueue(keyed, {}, { concurrencyKey: key })).id
const promote = () => rows(`select * from holdfast.tick(100, '-infinity')`)
/** Lets through what may go, and claims it. */
async function claimed(jobs = 100): Promise<string[]> {
  await promote()
  const { rows: taken } = await queue.client.query(claim(jobs), [queue.lane, fromTheHead])
  return taken.map(({ job_id }) => job_id)
}

const settle = `select holdfast.settle_jobs(jobs, array_fill(id, array[cardinality(jobs)]), '{}', '{}', '{}',
  array_fill(1::float8, array[cardinality(jobs)]), array_fill(0::float8, array[cardinality(jobs)]), '{}', 1, array[id]) from holdfast.leases`

describe('the probe of an open breaker', () => {
  const shut: Record<string, () => Promise<unknown>> = {
    'is paused': () => holdfast.flow.pauseKey('keyed', 'shut', by),
    'has as many running as it may': async () => {
      await holdfast.flow.limit('keyed', { maxRunningPerKey: 1 }, { by: 'ada' })
      await enqueue('shut')
      expect(await claimed()).toHaveLength(1)
    },
    'has started as often as it may': async () => {
      await holdfast.flow.limit('keyed', { ratePerKey: { count: 1, per: '1h' } }, { by: 'ada' })
      await enqueue('shut')
      expect(await claimed()).toHaveLength(1)
      await queue.client.query(settle)
    },
  }

  test.each(Object.entries(shut))('is none of a key that %s', async (_, shutKey) => {
    await shutKey()
    await holdfast.flow.breaker('keyed', 'open', by)
    await enqueue('shut')
    const open = await enqueue('open')
    await moveClock(queue.client, '2 minutes')
    expect(await claimed()).toEqual([open])
  })
})

describe('a clock that is set back by ten minutes', () => {
  const rates = {
    type: { rate: { count: 2, per: '1s' } },
    key: { ratePerKey: { count: 2, per: '1s' } },
  }
  test.each(Object.entries(rates))('does not stop a rate of a %s for longer than the rate says', async (_, limits) => {
    await holdfast.flow.limit('keyed', limits, { by: 'ada' })
    for (let n = 0; n < 6; n++) await enqueue('a')
    expect(await claimed()).toHaveLength(2)
    expect(await claimed()).toEqual([])
    await moveClock(queue.client, '-10 minutes')
    await promote()
    await moveClock(queue.client, '-9 minutes -58 seconds')
    expect(await claimed()).toHaveLength(2)
    // And what started since counts as ever.
    expect(await claimed()).toEqual([])
  })
})

test('keys of which nothing is said any more are forgotten in small pieces, and no others', async () => {
  await holdfast.flow.limit('keyed', { fair: true }, { by: 'ada' })
  for (const key of ['was paused 1', 'was paused 2', 'was paused 3']) {
    await holdfast.flow.pauseKey('keyed', key, by)
    await holdfast.flow.resumeKey('keyed', key, by)
  }
  await holdfast.flow.setWeight('keyed', 'weighty', 2, by)
  await holdfast.flow.pauseKey('keyed', 'paused', by)
  await queue.client.query(`select holdfast.stop_for(id, 'resting', interval '1 hour') from holdfast.types where name = 'keyed'`)
  const left = async () => (await rows('select concurrency_key as key from holdfast.keys order by 1')).map(({ key }) => key)
  const known = await left()
  expect(known).toHaveLength(6)
  await rows(`select * from holdfast.repair_drift(interval '0', 2)`)
  expect(known.length - (await left()).length).toBeLessThanOrEqual(2)
  for (let n = 0; n < 5; n++) await rows(`select * from holdfast.repair_drift(interval '0', 2)`)
  expect(await left()).toEqual(['paused', 'resting', 'weighty'])

  // One that comes back is served as before.
  const again = await enqueue('was paused 1')
  expect(await claimed()).toContain(again)
})

test('a key that has many turns takes a slot of its type for each job, and no job of it starts without one', async () => {
  await holdfast.flow.limit('keyed', { fair: true, maxRunning: 30 }, by)
  await holdfast.flow.setWeight('keyed', 'heavy', 100, by)
  const keys = [...Array(100).fill('heavy'), ...Array.from({ length: 99 }, (_, n) => `light ${n}`)]
  await holdfast.enqueueMany(keys.map((concurrencyKey) => ({ type: 'keyed', payload: {}, concurrencyKey })))
  expect(await claimed(500)).toHaveLength(30)
})
