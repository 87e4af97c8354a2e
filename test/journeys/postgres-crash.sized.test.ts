import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { violations } from '../support/invariants.js'
import { startOwnServer } from '../support/own-server.js'
import { makeQueue, work } from '../support/queue.js'
import { sized } from '../support/sized.js'

test('Postgres crashes while a job runs on a worker that lives: the lease survives, the job runs once, and whoever waits gets its result', async () => {
  const server = await startOwnServer()
  const queue = await makeQueue(server.url)
  const worker = await queue.worker({ lease: '60s' })
  const { id } = await queue.holdfast.enqueue(work, { hold: queue.ledger.beside('go'), returns: { done: true } })
  const waiting = queue.holdfast.wait(id, { timeout: '100s' })
  await eventually(() => queue.ledger.starts(id).length === 1)
  await server.crash()
  await worker.heard('database.away')
  // It ends while there is nobody to tell; the result is kept and written when there is.
  queue.ledger.open('go')
  await eventually(() => queue.ledger.finishes(id).length === 1)
  await server.start()
  const story = await eventually(async () => {
    const story = await queue.holdfast.job(id)
    return story?.status === 'completed' && story
  })
  expect(story.attempts).toMatchObject([{ attempt: 1, outcome: 'completed' }])
  expect(await waiting).toEqual({ done: true, attempt: 1 })
  await worker.heard('database.back')
  expect(queue.ledger.starts(id)).toHaveLength(1)
  // And it is the same process that works on.
  const next = await queue.holdfast.enqueue(work, {})
  await eventually(async () => (await queue.holdfast.job(next.id))?.status === 'completed')
  expect(queue.ledger.starts(next.id)[0]?.pid).toBe(worker.pid)
}, 120_000)

test('workers and Postgres are killed together, again and again: every job comes to its end', async () => {
  const server = await startOwnServer()
  const queue = await makeQueue(server.url)
  for (let round = 0; round < sized({ sample: 1, whole: 3 }); round++) {
    const workers = await Promise.all([queue.worker(), queue.worker()])
    const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 100 }, (_, n) => work.job({ ms: n }, { maxAttempts: 20 })))
    for (const { id } of jobs) queue.ledger.note({ kind: 'acknowledged', job: id })
    const before = queue.ledger.finishes().length
    await eventually(() => queue.ledger.finishes().length > before + 20 * round)
    await Promise.all([server.crash(), ...workers.map((worker) => worker.kill())])
    for (const { pid } of workers) queue.ledger.note({ kind: 'killed', pid })
    await server.start()
  }
  await queue.worker()
  await eventually(
    async () => (await queue.sql("select from holdfast.jobs where status not in ('completed', 'dead')")).length === 0,
    { within: 60_000 },
  )
  expect(await violations(queue)).toEqual([])
}, 180_000)
