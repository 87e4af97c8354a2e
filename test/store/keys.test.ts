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
const keysIn = async (table: string) =>
  (
    await rows(
      `select b.concurrency_key as key from holdfast.${table} as t join holdfast.bodies as b on b.id = t.job_id order by 1`,
    )
  ).map(({ key }) => key)
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
      await holdfast.flow.limit('keyed', { maxRunningPerKey: 1 })
      await enqueue('shut')
      expect(await claimed()).toHaveLength(1)
    },
    'has started as often as it may': async () => {
      await holdfast.flow.limit('keyed', { ratePerKey: { count: 1, per: '1h' } })
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

  test('goes back before its gate when its key is paused, and another key may be probed at once', async () => {
    await holdfast.flow.limit('keyed', { fair: true })
    await holdfast.flow.breaker('keyed', 'open', by)
    await enqueue('first')
    await moveClock(queue.client, '2 minutes')
    await promote()
    expect(await keysIn('queue')).toEqual(['first'])
    await enqueue('second')
    await holdfast.flow.pauseKey('keyed', 'first', by)
    await promote()
    expect([await keysIn('queue'), await keysIn('gated')]).toEqual([['second'], ['first']])
    expect(await rows('select * from holdfast.find_drift()')).toEqual([])
  })
})

describe('a clock that is set back by ten minutes', () => {
  const rates = {
    type: { rate: { count: 2, per: '1s' } },
    key: { ratePerKey: { count: 2, per: '1s' } },
  }
  test.each(Object.entries(rates))('does not stop a rate of a %s for longer than the rate says', async (_, limits) => {
    await holdfast.flow.limit('keyed', limits)
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

test('keys of which nothing is left are forgotten in small pieces, and no others', async () => {
  await holdfast.flow.limit('keyed', { fair: true })
  for (const key of ['done 1', 'done 2', 'done 3', 'running', 'weighty']) await enqueue(key)
  expect(await claimed()).toHaveLength(5)
  const [{ id }] = (await rows(`select id from holdfast.bodies where concurrency_key = 'running'`)) as [{ id: string }]
  await queue.client.query(
    `select holdfast.settle_jobs(array_agg(j), array_agg(l.id), '{}', '{}', '{}', array_agg(1::float8), array_agg(0::float8), '{}', 1, '{}')
     from holdfast.leases as l, unnest(l.jobs) as j where j <> $1`,
    [id],
  )
  await holdfast.flow.setWeight('keyed', 'weighty', 2, by)
  await holdfast.flow.pauseKey('keyed', 'paused', by)
  await queue.client.query(`select holdfast.stop_for(id, 'resting', interval '1 hour') from holdfast.types where name = 'keyed'`)
  await holdfast.flow.pauseType('keyed', by)
  await enqueue('waiting')
  const left = async () => (await rows('select concurrency_key as key from holdfast.keys order by 1')).map(({ key }) => key)
  await queue.client.query(`insert into holdfast.keys (type_id, concurrency_key, active) select id, 'waiting', true
    from holdfast.types where name = 'keyed'`)
  const known = await left()
  expect(known.filter((key) => key.startsWith('done'))).toHaveLength(3)
  await rows(`select * from holdfast.repair_drift(interval '0', 2)`)
  expect(known.length - (await left()).length).toBeLessThanOrEqual(2)
  for (let n = 0; n < 5; n++) await rows(`select * from holdfast.repair_drift(interval '0', 2)`)
  expect(await left()).toEqual(['paused', 'resting', 'running', 'waiting', 'weighty'])

  // One that comes back is served as before.
  await holdfast.flow.resumeType('keyed', by)
  const again = await enqueue('done 1')
  expect(await claimed()).toContain(again)
})

test('a job that a claim moves aside leaves no key full, also where its slot was that of another key', async () => {
  await holdfast.flow.limit('keyed', { maxRunningPerKey: 1 })
  await enqueue('b')
  await promote()
  await queue.client.query(`update holdfast.admissions set concurrency_key = 'a'`)
  await enqueue('a')
  await promote()
  expect(await rows(`select from holdfast.keys where full_now and concurrency_key = 'a'`)).toHaveLength(1)
  // As failures and a probe that succeeded do it; an operator who does looks at every key anew.
  await queue.client.query(`select holdfast.open_breaker(id, 'all failed') from holdfast.types where name = 'keyed'`)
  expect(await claimed()).toEqual([])
  expect(await keysIn('gated')).toEqual(['a', 'b'])
  await queue.client.query(`select holdfast.close_breaker(id, 'a probe succeeded') from holdfast.types where name = 'keyed'`)
  await promote()
  expect(await keysIn('queue')).toEqual(['a', 'b'])
  expect(await rows('select * from holdfast.find_drift()')).toEqual([])
})
