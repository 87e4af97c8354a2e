import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { by, killAndNote, mostAtOnce, startTogether, startWorkers } from '../support/flow.js'
import { makeQueue } from '../support/queue.js'

/** Operators who say something for a time, or until they release it, while workers drain, start and are killed. */
const mail = (limits = {}) => ({ type: 'mail', limits })

test('pauses and limits for a second each come and go while workers drain, and no job is left or runs twice', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([defineType({ type: 'mail' })])
  await startTogether(queue, 3, { types: [{ type: 'mail' }], worker: { concurrency: 4 } })
  const { flow } = queue.holdfast
  const jobs = await queue.holdfast.enqueueMany(
    Array.from({ length: 600 }, (_, n) => ({ type: 'mail', payload: { ms: 10 }, concurrencyKey: `key ${n % 5}` })),
  )
  for (let round = 0; round < 3; round++) {
    await Promise.all([
      flow.pauseType('mail', by, { for: '1s' }),
      flow.pauseKey('mail', 'key 1', by, { for: '1s' }),
      flow.limit('mail', { maxRunning: 2 }, by, { for: '1s' }),
      flow.limit('mail', { maxRunningPerKey: 1 }, by, { for: '1s' }),
    ])
    const before = queue.ledger.starts().length
    await eventually(() => queue.ledger.starts().length > before)
  }
  await eventually(() => queue.ledger.finishes().length === jobs.length)
  expect(new Set(queue.ledger.starts().map(({ job }) => job)).size).toBe(jobs.length)
  expect(queue.ledger.starts().length).toBe(jobs.length)
  await eventually(async () => expect(await flow.gate('mail')).toMatchObject({ paused: null, maxRunning: null, overrides: [] }))
  // Nothing holds the type back, so it does not pass a gate.
  await eventually(async () => (await queue.sql(`select from holdfast.types where name = 'mail' and not gated`)).length === 1)
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
})

test('the limit of an operator holds while workers with other limits in their code start, register again and are killed', async () => {
  const queue = await makeQueue()
  const [first] = await startWorkers(queue, 1, { types: [mail({ maxRunning: 8 })], worker: { concurrency: 8 } })
  await queue.holdfast.flow.limit('mail', { maxRunning: 2 }, by)
  const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 120 }, () => ({ type: 'mail', payload: { ms: 20 } })))
  await eventually(() => queue.ledger.starts().length > 5)
  const others = [6, 8, 10].map((maxRunning) => queue.worker({ concurrency: 8 }, { types: [mail({ maxRunning })] }))
  await killAndNote(queue, first as NonNullable<typeof first>)
  await Promise.all(others)
  await eventually(() => new Set(queue.ledger.finishes().map(({ job }) => job)).size >= 60)
  expect(mostAtOnce(queue.ledger.entries())).toBeLessThanOrEqual(2)
  await queue.holdfast.flow.releaseLimits('mail', by)
  expect([6, 8, 10]).toContain((await queue.holdfast.flow.gate('mail'))?.maxRunning)
  await eventually(() => new Set(queue.ledger.finishes().map(({ job }) => job)).size === jobs.length)
  expect(mostAtOnce(queue.ledger.entries())).toBeLessThanOrEqual(10)
}, 60_000)

test('a lane is drained for a second, tuned and released while workers drain it, start again and are killed; every job runs', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([defineType({ type: 'mail' })])
  const [first] = await startWorkers(queue, 2, { types: [{ type: 'mail', timeout: '1m' }], worker: { concurrency: 4 } })
  const { flow } = queue.holdfast
  const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 300 }, () => ({ type: 'mail', payload: { ms: 10 } })))
  await eventually(() => queue.ledger.starts().length > 10)
  await Promise.all([
    flow.drainLane('default', by, { for: '1s' }),
    flow.defineType('mail', { timeout: '2m' }, by),
    flow.setLane('default', { slots: 3 }, by),
    queue.worker({ concurrency: 4 }, { types: [{ type: 'mail', timeout: '3m' }] }),
  ])
  await killAndNote(queue, first as NonNullable<typeof first>)
  await eventually(() => new Set(queue.ledger.finishes().map(({ job }) => job)).size > 200)
  expect(await flow.type('mail')).toMatchObject({ timeoutMs: 120_000 })
  await Promise.all([flow.releaseLane('default', by), flow.releaseType('mail', by)])
  await eventually(() => new Set(queue.ledger.finishes().map(({ job }) => job)).size === jobs.length)
  expect(await flow.type('mail')).toMatchObject({ timeoutMs: 180_000, overrides: [] })
  expect((await flow.lanes())[0]).toMatchObject({ name: 'default', enabled: true, slots: null, overrides: [] })
  await eventually(async () => expect(await queue.sql('select from holdfast.lane_slots')).toEqual([]))
}, 60_000)
