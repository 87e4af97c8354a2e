import { Holdfast } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeObservedDatabase, type ObservedDatabase } from '../support/observed-database.js'
import { serverPort, work } from '../support/small-worker.js'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.js'

/** A producer whose database has just gone away, in the middle of its work. */
async function producerInAnOutage(): Promise<{ database: ObservedDatabase; proxy: TcpProxy; producer: Holdfast }> {
  const database = await makeObservedDatabase()
  const proxy = await startProxy(serverPort())
  const producer = new Holdfast({ connectionString: proxy.through(database.url) })
  onTestFinished(() => producer.close())
  await producer.enqueue(work(), {})
  proxy.refuse()
  proxy.cut()
  return { database, proxy, producer }
}

test('an enqueue waits for a database that is away, alone or with a hundred others, and each job is stored once', async () => {
  const { database, proxy, producer } = await producerInAnOutage()
  let answered = 0
  const sent = Array.from({ length: 100 }, () => producer.enqueue(work(), {}).finally(() => (answered += 1)))
  const many = producer.enqueueMany([work().job({}), work().job({}, { idempotencyKey: 'one' })])
  // More than four quick tries take.
  await expect(producer.enqueue(work(), {}, { retryFor: '1s' })).rejects.toThrow(/tried \d+ times in \d+\.\d s/)
  expect(answered).toBe(0)
  await proxy.heal()
  const jobs = [...(await Promise.all(sent)), ...(await many)]
  expect(new Set(jobs.map(({ status }) => status))).toEqual(new Set(['created']))
  expect(new Set(jobs.map(({ id }) => id)).size).toBe(102)
  await eventually(async () => (await database.counts()).pending === 103)
}, 90_000)

test('a commit whose answer was lost in the outage is found again when the database is back, and is one job', async () => {
  const { database, proxy, producer } = await producerInAnOutage()
  await proxy.heal()
  await producer.enqueue(work(), {})
  proxy.loseAnswersTo('the lost answer')
  const sent = producer.enqueue(work(), { note: 'the lost answer' })
  await eventually(async () => (await database.counts()).pending === 3)
  proxy.loseAnswersTo(undefined)
  proxy.cut()
  expect((await sent).status).toBe('created')
  expect((await database.counts()).pending).toBe(3)
}, 90_000)

test("the caller's signal ends the waiting at once, and one that has fired already sends nothing", async () => {
  const { database, proxy, producer } = await producerInAnOutage()
  const over = new AbortController()
  const sent = producer.enqueue(work(), {}, { signal: over.signal })
  over.abort(new Error('the request was closed'))
  await expect(sent).rejects.toMatchObject({
    code: 'database_unavailable',
    message: expect.stringMatching(/until the caller's signal ended it; the jobs may have been stored/),
  })
  await proxy.heal()
  await expect(producer.enqueue(work(), {}, { signal: over.signal })).rejects.toThrow('the request was closed')
  expect((await database.counts()).pending).toBe(1)
}, 90_000)

test('what cannot be waited for is refused with its name', async () => {
  expect(() => new Holdfast({ connectionString: 'postgres://x', retryEnqueueFor: '2h' })).toThrow(
    /retryEnqueueFor.*at most 1 hour/s,
  )
  const { producer } = await producerInAnOutage()
  await expect(producer.enqueueMany([work().job({})], { retryFor: 'soon' as never })).rejects.toThrow(/retryFor/)
  await expect(producer.enqueueMany([work().job({})], { signal: 1 as never })).rejects.toThrow(/signal must be an AbortSignal/)
})
