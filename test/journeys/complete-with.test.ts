import { defineType, Holdfast, LeaseLostError, type RunContext } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { clients } from '../support/clients.js'
import { startCuttingProxy } from '../support/cutting-proxy.js'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

type Handler = (payload: string, ctx: RunContext) => unknown

const once = { maxAttempts: 1, limits: { breaker: false } } as const
const soon = { backoff: { base: 1, cap: 1, jitter: 0 }, limits: { breaker: false } } as const

async function queueWithOrders(): Promise<Queue> {
  const queue = await makeQueue()
  await queue.sql('create table orders (id text)')
  return queue
}
const orders = async (queue: Queue) => (await queue.sql('select id from orders order by id')).map(({ id }) => id)
const outcomes = async (queue: Queue, id: string) => (await queue.holdfast.job(id))?.attempts.map(({ outcome }) => outcome)
const work = (run: Handler, options: object = once) => defineType({ type: 'work', ...options, run })

test('the rows of a handler and the end of its job are committed together, with what the callback returned', async () => {
  const queue = await queueWithOrders()
  const type = defineType({
    type: 'work',
    ...once,
    run: (order: string, { completeWith, job }) =>
      completeWith(async (tx) => {
        await tx.query('insert into orders values ($1)', [order])
        // Nobody else sees either of them yet.
        expect(await orders(queue)).toEqual([])
        expect(await queue.holdfast.job(job.id)).toMatchObject({ status: 'processing' })
        return { order }
      }),
  })
  const worker = await startHere(queue, [type])
  const job = await queue.holdfast.enqueue(type, 'a')
  const { order } = await queue.holdfast.wait(job)
  expect(order).toBe('a')
  expect(await orders(queue)).toEqual(['a'])
  expect(await outcomes(queue, job.id)).toEqual(['completed'])
  await eventually(() => worker.health().unwritten === 0)
  await eventually(async () => (await queue.sql('select from holdfast.leases')).length === 0)
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
  expect(await queue.sql('select sum(good)::int as good from holdfast.attempt_counts')).toEqual([{ good: 1 }])
})

test('a callback that throws commits nothing, and the job is tried again', async () => {
  const queue = await queueWithOrders()
  const type = work(
    (order, { completeWith, job }) =>
      completeWith(async (tx) => {
        await tx.query('insert into orders values ($1)', [`${order} ${job.attempt}`])
        if (job.attempt === 1) throw new Error('no ink')
      }),
    soon,
  )
  await startHere(queue, [type])
  const job = await queue.holdfast.enqueue(type, 'a')
  await queue.holdfast.wait(job)
  expect(await orders(queue)).toEqual(['a 2'])
  expect(await outcomes(queue, job.id)).toEqual(['failed', 'completed'])
})

test('a result that cannot be kept commits nothing and ends the job dead', async () => {
  const queue = await queueWithOrders()
  const type = work((order, { completeWith }) =>
    completeWith(async (tx) => {
      await tx.query('insert into orders values ($1)', [order])
      return new Date()
    }),
  )
  await startHere(queue, [type])
  const job = await queue.holdfast.enqueue(type, 'a')
  await expect(queue.holdfast.wait(job)).rejects.toMatchObject({ reason: 'fatal' })
  expect(await orders(queue)).toEqual([])
})

test('an attempt that lost its lease, or whose job was cancelled, cannot commit', async () => {
  const queue = await queueWithOrders()
  const told: unknown[] = []
  const type = work(async (how, { completeWith, job }) => {
    await completeWith(async (tx) => {
      await tx.query('insert into orders values ($1)', [how])
      if (how === 'lost') await queue.sql('update holdfast.queue set lease_id = lease_id + 1000 where job_id = $1', [job.id])
      else await queue.holdfast.cancel(job.id, { by: 'ada', why: 'not needed' })
    }).catch((error) => told.push(error))
  })
  const worker = await startHere(queue, [type])
  for (const how of ['lost', 'cancelled']) await queue.holdfast.enqueue(type, how)
  await eventually(() => told.length === 2 && worker.health().running === 0)
  expect(told).toEqual([expect.any(Error), expect.any(Error)])
  expect(told.some((error) => error instanceof LeaseLostError)).toBe(true)
  expect(await orders(queue)).toEqual([])
  expect(await queue.sql(`select from holdfast.history where outcome = 'completed'`)).toEqual([])
})

test('a commit whose answer is lost counts, and the handler does not run again', async () => {
  const queue = await queueWithOrders()
  const proxy = await startCuttingProxy(queue.url)
  onTestFinished(() => proxy.close())
  const holdfast = new Holdfast({ connectionString: proxy.url })
  onTestFinished(() => holdfast.close())
  const type = work((order, { completeWith }) =>
    completeWith(async (tx) => {
      await tx.query('insert into orders values ($1)', [order])
      proxy.cutAnswerTo('commit\0')
      return order
    }),
  )
  const worker = await startHere({ ...queue, holdfast }, [type])
  const late: unknown[] = []
  worker.events.on('settle.late', (event) => late.push(event))
  const job = await queue.holdfast.enqueue(type, 'a')
  expect(await queue.holdfast.wait(job)).toBe('a')
  expect(proxy.cuts).toBe(1)
  await eventually(() => worker.health().running === 0 && worker.health().unwritten === 0)
  expect(await orders(queue)).toEqual(['a'])
  expect(await outcomes(queue, job.id)).toEqual(['completed'])
  expect(late).toEqual([])
})

test('a connection that breaks in a commit that does not happen leaves neither rows nor an end, and the job is tried again', async () => {
  const queue = await queueWithOrders()
  await queue.sql(
    `create function cut() returns trigger language plpgsql as 'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`,
  )
  await queue.sql(`create constraint trigger cut after insert on orders deferrable initially deferred for each row
                   when (new.id like '% 1') execute function cut()`)
  const type = work(
    (order, { completeWith, job }) =>
      completeWith(async (tx) => void (await tx.query('insert into orders values ($1)', [`${order} ${job.attempt}`]))),
    soon,
  )
  await startHere(queue, [type])
  const job = await queue.holdfast.enqueue(type, 'a')
  await queue.holdfast.wait(job)
  expect(await orders(queue)).toEqual(['a 2'])
  expect(await outcomes(queue, job.id)).toEqual(['failed', 'completed'])
})

test('more handlers than connections complete one after the other, and the worker keeps its own', async () => {
  const queue = await queueWithOrders()
  const type = work((order, { completeWith, checkpoint }) =>
    completeWith(async (tx) => {
      // Needs another connection while this one is taken.
      await checkpoint(1)
      await tx.query('insert into orders values ($1)', [order])
    }),
  )
  await startHere(queue, [type], { concurrency: 30 })
  const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 60 }, (_, n) => type.job(String(n))))
  await Promise.all(jobs.map((job) => queue.holdfast.wait(job)))
  expect(await orders(queue)).toHaveLength(60)
})

test('what a handler throws after its job has been committed changes nothing, and is told', async () => {
  const queue = await queueWithOrders()
  const type = work(async (order, { completeWith }) => {
    await completeWith(async (tx) => void (await tx.query('insert into orders values ($1)', [order])))
    throw new Error('too late')
  })
  const worker = await startHere(queue, [type])
  const escaped: { error: string }[] = []
  worker.events.on('job.escaped', (event) => escaped.push(event))
  const job = await queue.holdfast.enqueue(type, 'a')
  await queue.holdfast.wait(job)
  await eventually(() => worker.health().running === 0)
  expect(await outcomes(queue, job.id)).toEqual(['completed'])
  expect(escaped).toMatchObject([{ job: job.id, error: 'too late' }])
})

test.each(clients)('a transaction of $name completes the job when it commits, and only then', async ({ open }) => {
  const queue = await queueWithOrders()
  const client = await open(queue.url)
  onTestFinished(() => client.close())
  const type = work((end, { completeWith }) =>
    client.transact((tx) => completeWith(tx, { end }), end as 'commit' | 'rollback').then(() => 'what it returns does not count'),
  )
  await startHere(queue, [type])
  const kept = await queue.holdfast.enqueue(type, 'commit')
  expect(await queue.holdfast.wait(kept)).toEqual({ end: 'commit' })
  const undone = await queue.holdfast.enqueue(type, 'rollback')
  await expect(queue.holdfast.wait(undone)).rejects.toMatchObject({ code: 'job_dead', lastError: { code: 'not_committed' } })
})

test('an isolated handler completes in a transaction of its own, and is told that it has none of the worker', async () => {
  const queue = await queueWithOrders()
  await startHere(queue, new URL('../support/isolation/completing.mjs', import.meta.url))
  const kept = await queue.holdfast.enqueue('own', { url: queue.url, end: 'commit' })
  const undone = await queue.holdfast.enqueue('own', { url: queue.url, end: 'rollback' })
  const refused = await queue.holdfast.enqueue('ours', {})
  expect(await queue.holdfast.wait(kept)).toEqual({ end: 'commit' })
  await expect(queue.holdfast.wait(undone)).rejects.toMatchObject({ lastError: { code: 'not_committed' } })
  await expect(queue.holdfast.wait(refused)).rejects.toMatchObject({
    lastError: { code: 'unknown_transaction', message: expect.stringMatching(/pass a transaction of your own/) },
  })
  expect(await orders(queue)).toEqual([kept.id])
}, 60_000)
