import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { makeCountingPool, type Sent } from '../support/counting-pool.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { quiet, work } from '../support/small-worker.js'

/** Statements by their names, up to the first of that name. Heartbeats come when the clock of their thread says so. */
function namesUpTo(last: string, sent: readonly Sent[]): string[] {
  const names = sent.map(({ text }) => /^-- (\w+)/.exec(text)?.[1] ?? text).filter((name) => name !== 'renewLeases')
  return names.slice(0, names.indexOf(last) + 1)
}

test('a worker whose definitions are known asks for little before its first claim, and sweeps and counts after it', async () => {
  const queue = await makeQueue()
  const type = work()
  await (await startWorker(queue.holdfast, [type], { logger: quiet })).stop()
  const { id } = await queue.holdfast.enqueue(type, {})
  const { pool, sent } = makeCountingPool(queue.url)
  const holdfast = new Holdfast({ pool })
  const worker = await startWorker(holdfast, [type], { logger: quiet, listen: false })
  onTestFinished(async () => {
    await worker.stop()
    await pool.end()
  })
  await eventually(async () => (await queue.holdfast.job(id))?.status === 'completed')
  expect(namesUpTo('claimJobs', sent)).toEqual([
    'show default_transaction_isolation',
    ...['registerTypes', 'readStart', 'registerWorker', 'tick', 'claimJobs'],
  ])
  await eventually(() => sent.some(({ text }) => text.startsWith('-- missingPartitions')))
}, 60_000)

test('a worker applies what its definitions changed of limits, uses and webhooks, and takes away what they no longer name', async () => {
  const queue = await makeQueue()
  const start = async (options: object) =>
    (await startWorker(queue.holdfast, [work(undefined, options)], { logger: quiet })).stop()
  const webhook = { url: 'https://hooks.example.com/work', secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }
  const state = async () => {
    const [found] =
      await queue.sql(`select g.max_running, cardinality(g.uses) as uses, (select count(*)::integer from holdfast.webhooks) as webhooks
      from holdfast.types as t left join holdfast.gates as g on g.type_id = t.id where t.name = 'work'`)
    return found
  }
  await start({ limits: { breaker: false, maxRunning: 3 }, uses: ['bank'], webhook })
  expect(await state()).toEqual({ max_running: 3, uses: 1, webhooks: 1 })
  await start({ limits: { breaker: false, maxRunning: 5 }, uses: ['bank'], webhook })
  expect(await state()).toEqual({ max_running: 5, uses: 1, webhooks: 1 })
  await start({ limits: { breaker: false } })
  expect(await state()).toEqual({ max_running: null, uses: 0, webhooks: 0 })
}, 60_000)
