import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { chunked, claimed, enqueue, held, named, noDrift, once, statuses } from '../support/chunks.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

test('a worker that stops hands back the jobs of its calls without spending their attempts, and at once those that wait for a call', async () => {
  const queue = await makeQueue()
  const { type, calls, whole } = held(once, { size: 2, wait: '60s' })
  const worker = await startHere(queue, [type], { drain: '60s' })
  const running = await enqueue(queue, type, ['a', 'b'])
  await eventually(() => calls.length === 1)
  await worker.stop({ now: true })
  expect(whole[0]?.reason).toMatchObject({ name: 'ShutdownError' })
  expect(await statuses(queue, running)).toEqual(['pending', 'pending'])
  await queue.holdfast.cancelMany({ type: 'chunked' }, { by: 'ada' })

  const another = await startHere(queue, [type], { drain: '60s' })
  const waiting = await enqueue(queue, type, ['c'])
  await claimed(queue, 1)
  await another.stop()
  expect(await statuses(queue, waiting)).toEqual(['pending'])
  expect(calls).toHaveLength(1)
  // Its only attempt is still there.
  await startHere(queue, [chunked(named, { size: 1 })])
  expect(await queue.holdfast.wait(waiting[0]?.id as string)).toBe('c')
  await noDrift(queue)
})

test('a call is one slot of its type and none of the shared ones, and each of its jobs counts against the limits', async () => {
  const queue = await makeQueue()
  const { type, calls, letGo } = held({ limits: { maxRunning: 3, breaker: false } }, { size: 5, wait: '20ms' })
  const plain = defineType({ type: 'plain', run: () => 'ran' })
  const jobs = await enqueue(queue, type, Array.from('abcde'))
  await startHere(queue, [type, plain], { concurrency: 1 })
  await eventually(() => calls.length === 1)
  expect(calls).toEqual([['a', 'b', 'c']])
  expect(await queue.holdfast.explain(jobs[3]?.id as string)).toMatchObject({ status: 'pending' })
  expect(await queue.holdfast.wait(await queue.holdfast.enqueue(plain, {}))).toBe('ran')
  letGo()
  await Promise.all(jobs.map(({ id }) => queue.holdfast.wait(id)))
  expect(calls.slice(1).flat()).toEqual(['d', 'e'])
  await noDrift(queue)
})

test('jobs that come while all calls of a worker are under way are left to other workers', async () => {
  const queue = await makeQueue()
  const { type, calls } = held(once, { size: 2, wait: '1ms' })
  await startHere(queue, [type])
  await enqueue(queue, type, ['a'])
  await eventually(() => calls.length === 1)
  const [job] = await enqueue(queue, type, ['b'])
  await startHere(queue, [chunked(named, { size: 2 })])
  expect(await queue.holdfast.wait(job?.id as string)).toBe('b')
  expect(calls).toEqual([['a']])
})

test('of a key that may run once, a call has one job', async () => {
  const queue = await makeQueue()
  const calls: string[][] = []
  const limits = { maxRunningPerKey: 1, breaker: false }
  const type = chunked((jobs) => void calls.push(named(jobs)), { size: 4, wait: '5ms' }, { limits })
  const jobs = await enqueue(
    queue,
    type,
    ['x1', 'x2', 'y1', 'y2', 'x3'],
    ['x', 'x', 'y', 'y', 'x'].map((concurrencyKey) => ({ concurrencyKey })),
  )
  await startHere(queue, [type])
  await Promise.all(jobs.map(({ id }) => queue.holdfast.wait(id)))
  for (const call of calls) expect(new Set(call.map(([key]) => key)).size).toBe(call.length)
  expect(calls.flat().toSorted()).toEqual(['x1', 'x2', 'x3', 'y1', 'y2'])
  await noDrift(queue)
})
