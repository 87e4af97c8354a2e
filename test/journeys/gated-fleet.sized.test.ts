import { setTimeout as pause } from 'node:timers/promises'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { by, killAndNote, mostAtOnce, startWorkers } from '../support/flow.js'
import type { Program } from '../support/processes.js'
import { makeQueue, work } from '../support/queue.js'
import { sized } from '../support/sized.js'

const keys = ['a', 'b', 'c', 'd', 'e']
const most = { maxRunning: 6, maxRunningPerKey: 2 }
const jobs = sized({ sample: 120, whole: 400 })
const worker = { lease: '5s', concurrency: 10 }

test('workers on one type whose limits, pause and lane an operator changes while workers are killed: no limit is exceeded, no slot leaks', async () => {
  const queue = await makeQueue()
  const { flow } = queue.holdfast
  await queue.holdfast.registerTypes([work])
  await flow.setLane('other', { slots: 5 }, by, { create: true })
  await flow.limit('work', most, by)
  const workers: Program[] = await startWorkers(queue, sized({ sample: 2, whole: 4 }), { worker })
  await queue.holdfast.enqueueMany(
    Array.from({ length: jobs }, (_, n) => {
      const key = keys[n % keys.length] as string
      return work.job({ key, ms: 5 + (n % 20) }, { concurrencyKey: key, maxAttempts: 20, priority: n % 3 })
    }),
  )

  // Every order of two of these comes by; what is chosen is the same each time, when it happens is not.
  const changes = [
    () => flow.limit('work', { maxRunning: 2, maxRunningPerKey: 1 }, by),
    () => flow.moveType('work', 'other', by),
    () => flow.limit('work', { ...most, fair: true }, by),
    () => flow.pauseType('work', by),
    () => flow.pauseKey('work', 'a', by),
    () => flow.resumeType('work', by),
    () => flow.moveType('work', 'default', by),
    () => flow.limit('work', { ...most, rate: { count: 40, per: '100ms' } }, by),
    () => flow.resumeKey('work', 'a', by),
  ]
  const started = () => queue.ledger.starts().length
  for (let turn = 0; turn < sized({ sample: 11, whole: 2 * changes.length }); turn++) {
    await changes[(turn * (turn < changes.length ? 1 : 4)) % changes.length]?.()
    if (turn % 6 === 3) {
      await killAndNote(queue, workers.shift() as Program)
      workers.push(...(await startWorkers(queue, 1, { worker })))
    }
    await pause(30)
  }
  await Promise.all([flow.resumeType('work', by), flow.resumeKey('work', 'a', by)])
  await eventually(() => started() > jobs / 4)
  await flow.limit('work', { maxRunning: 2, maxRunningPerKey: 1 }, by)
  // What ran when the limit became smaller may go on.
  await eventually(async () => (await queue.sql('select from holdfast.queue where lease_id is not null')).length <= 2)
  const lowered = queue.ledger.entries().length
  await eventually(async () => (await queue.sql('select from holdfast.queue')).length === 0, { within: 60_000 })

  const entries = queue.ledger.entries()
  expect(mostAtOnce(entries)).toBeLessThanOrEqual(most.maxRunning)
  expect(mostAtOnce(entries, ({ key }) => key ?? '')).toBeLessThanOrEqual(most.maxRunningPerKey)
  expect(mostAtOnce(entries.slice(lowered))).toBeLessThanOrEqual(2)
  expect(mostAtOnce(entries.slice(lowered), ({ key }) => key ?? '')).toBe(1)
  const [row] = await queue.sql("select count(*)::integer as n from holdfast.jobs where status = 'completed'")
  expect(row?.n).toBe(jobs)
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
}, 180_000)

test('two types on three workers share the limit, rate and pause of a dependency that an operator changes while one is killed', async () => {
  const queue = await makeQueue()
  const { flow } = queue.holdfast
  const [charge, refund] = [defineType({ type: 'charge' }), defineType({ type: 'refund' })]
  await flow.limitDependency('stripe', { maxRunning: 5, breaker: false }, by, { create: true })
  const types = [charge, refund].map(({ type }) => ({ type, uses: ['stripe'], limits: { breaker: false } }))
  const workers: Program[] = await startWorkers(queue, 3, { types, worker })
  const count = sized({ sample: 90, whole: 400 })
  await queue.holdfast.enqueueMany(
    Array.from({ length: count }, (_, n) => (n % 3 === 0 ? charge : refund).job({ ms: 5 + (n % 20) }, { maxAttempts: 20 })),
  )
  const changes = [
    () => flow.limitDependency('stripe', { maxRunning: 2 }, by),
    () => flow.pauseDependency('stripe', by),
    () => flow.limitDependency('stripe', { maxRunning: 5, rate: { count: 20, per: '100ms' } }, by),
    () => flow.resumeDependency('stripe', by),
    () => flow.dependencyBreaker('stripe', 'hold_open', by),
    () => flow.limitDependency('stripe', { rate: null }, by),
    () => flow.dependencyBreaker('stripe', 'release', by),
  ]
  for (const [turn, change] of changes.entries()) {
    await change()
    if (turn === 3) {
      await eventually(() => queue.ledger.starts().length > 10)
      await killAndNote(queue, workers.shift() as Program)
    }
  }
  await eventually(() => queue.ledger.starts().length > count / 3)
  await flow.limitDependency('stripe', { maxRunning: 2 }, by)
  // What ran when the limit became smaller may go on.
  await eventually(async () => (await queue.sql('select from holdfast.queue where lease_id is not null')).length <= 2)
  const lowered = queue.ledger.entries().length
  await eventually(async () => (await queue.sql('select from holdfast.live')).length === 0, { within: 60_000 })

  const entries = queue.ledger.entries()
  expect(mostAtOnce(entries)).toBeLessThanOrEqual(5)
  expect(mostAtOnce(entries.slice(lowered))).toBeLessThanOrEqual(2)
  const [row] = await queue.sql("select count(*)::integer as n from holdfast.jobs where status = 'completed'")
  expect(row?.n).toBe(count)
  expect(await flow.dependency('stripe')).toMatchObject({ held: 0, types: ['charge', 'refund'] })
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
}, 120_000)

test('three workers on ordered keys, with retries, delays and a kill: every key runs in exactly the order of its enqueue', async () => {
  const queue = await makeQueue()
  const types = [{ type: 'work', backoff: { base: 20, cap: 20, jitter: 0 }, limits: { ordered: true, breaker: false } }]
  const workers: Program[] = await startWorkers(queue, 3, { types, worker })
  const enqueued: { id: string; key: string }[] = []
  for (let turn = 0; turn < 8; turn++) {
    const some = Array.from({ length: 15 }, (_, n) => {
      const key = keys[n % keys.length] as string
      const options = { concurrencyKey: key, maxAttempts: 20, priority: n % 10, ...(n % 4 === 1 ? { delay: 50 * (n % 3) } : {}) }
      return work.job({ key, ms: 2 * (n % 5), failUntil: (n + turn) % 4 === 0 ? 2 : 0 }, options)
    })
    const created = await queue.holdfast.enqueueMany(some)
    enqueued.push(...created.map(({ id }, n) => ({ id, key: keys[n % keys.length] as string })))
    if (turn === 4) {
      // In the middle of its work: one of its jobs has begun and not ended.
      await eventually(() => queue.ledger.starts().length > enqueued.length / 4)
      await killAndNote(queue, workers.shift() as Program)
    }
  }
  const live = 'select from holdfast.live'
  await eventually(async () => (await queue.sql(live)).length === 0, { within: 60_000 })

  for (const key of keys) {
    const began = queue.ledger.starts().filter((start) => start.key === key)
    // Each job as often as it was tried, and no other one in between.
    const order = began.map(({ job }) => job).filter((job, n, all) => job !== all[n - 1])
    expect(order).toEqual(enqueued.filter((job) => job.key === key).map(({ id }) => id))
  }
  expect(mostAtOnce(queue.ledger.entries(), ({ key }) => key ?? '')).toBe(1)
  const [row] = await queue.sql("select count(*)::integer as n from holdfast.jobs where status = 'completed'")
  expect(row?.n).toBe(enqueued.length)
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
}, 120_000)
