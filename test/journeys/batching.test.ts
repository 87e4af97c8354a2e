import { defineType, Holdfast } from 'holdfast'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { makeQueue } from '../support/queue.js'

const work = defineType({ type: 'work' })

/** A producer with a pool of ours, whose statements can be counted. */
async function countedProducer(url: string): Promise<{ holdfast: Holdfast; statements: () => number }> {
  const pool = new pg.Pool({ connectionString: url })
  let sent = 0
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      if (/enqueueJobs?/.test((args[0] as { name?: string }).name ?? '')) sent += 1
      return query(...args)
    }) as typeof client.query
  })
  const holdfast = new Holdfast({ pool })
  onTestFinished(async () => {
    await holdfast.close()
    await pool.end()
  })
  return { holdfast, statements: () => sent }
}

test('single enqueues that come at once go in few statements, and each is answered with its own job', async () => {
  const queue = await makeQueue()
  const { holdfast, statements } = await countedProducer(queue.url)
  await holdfast.enqueue(work, { n: -1 })
  const before = statements()
  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => holdfast.enqueue(work, { n })))
  expect(statements() - before).toBeLessThan(20)
  expect(new Set(answers.map(({ id }) => id)).size).toBe(200)
  expect(answers.every(({ status }) => status === 'created')).toBe(true)
  for (const [n, { id }] of answers.entries()) {
    if (n % 20 === 0) expect((await queue.holdfast.job(id))?.payload).toEqual({ n })
  }
})

test('those of several services go together with others of their own, and keep their owner', async () => {
  const queue = await makeQueue()
  const { holdfast, statements } = await countedProducer(queue.url)
  await holdfast.enqueue(work, {})
  const before = statements()
  const owners = ['billing', undefined, 'shipping']
  const asked = Array.from({ length: 90 }, (_, n) => owners[n % 3])
  const answers = await Promise.all(
    asked.map(async (owner) => (await holdfast.enqueueMany([work.job({})], owner ? { owner } : {}))[0]),
  )
  expect(statements() - before).toBeLessThan(20)
  const rows = await queue.sql('select id, owner from holdfast.bodies')
  const ownerOf = new Map(rows.map(({ id, owner }) => [id, owner]))
  expect(answers.map((answer) => ownerOf.get(answer?.id ?? ''))).toEqual(asked.map((owner) => owner ?? null))
})

test('one that is refused is told so alone; the others of its moment are stored', async () => {
  const queue = await makeQueue()
  const { holdfast } = await countedProducer(queue.url)
  await holdfast.enqueue(work, {})
  const answers = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) => holdfast.enqueue(n === 25 ? 'nobody_knows_it' : 'work', { n })),
  )
  const refused = answers.filter(({ status }) => status === 'rejected')
  expect(refused).toMatchObject([{ reason: { code: 'unknown_type' } }])
  const [row] = await queue.sql('select count(*)::int as jobs from holdfast.bodies')
  expect(row).toEqual({ jobs: 50 })
})

test('one with a key that somebody holds holds up no other', async () => {
  const queue = await makeQueue()
  const { holdfast } = await countedProducer(queue.url)
  const tx = await queue.connect()
  await holdfast.enqueue(work, {})
  await tx.query('begin')
  await holdfast.enqueue(work, {}, { idempotencyKey: 'once', tx })
  const second = holdfast.enqueue(work, {}, { idempotencyKey: 'once' })
  await Promise.all(Array.from({ length: 20 }, () => holdfast.enqueue(work, {})))
  await tx.query('commit')
  expect((await second).status).toBe('existing')
})
