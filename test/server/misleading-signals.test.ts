import { once } from 'node:events'
import { defineType, FatalError } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { countersOf, readMeasured } from '../support/measured.js'
import { quiet, type Serving, serve } from '../support/serving.js'

/** Numbers that look healthy while something is wrong; each time with the number that tells the truth. */
let serving: Serving

beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

const measured = async () => {
  await insideOf(serving.holdfast).store.operate.measureDepths()
  return readMeasured(await (await serving.ask('/metrics')).text())
}
const register = (type: string) => serving.holdfast.registerTypes([defineType({ type, limits: { breaker: false } })])

test('the queue has a depth of 0, and its jobs never become due: they are counted as scheduled', async () => {
  await register('never_due')
  await serving.holdfast.enqueue('never_due', {}, { runAt: new Date(Date.now() + 365 * 86_400_000) })
  await eventually(async () => {
    const now = await measured()
    expect(now.get('holdfast_queue_depth{type="never_due",priority="5"}')).toBe(0)
    expect(now.get('holdfast_jobs_scheduled{type="never_due"}')).toBe(1)
    return true
  })
})

test('jobs complete, and their handler fails after it said so: the worker tells what escaped it', async () => {
  const hasty = defineType({
    type: 'hasty',
    async run(_, ctx) {
      await ctx.completeWith(async () => {})
      throw new Error('the mail server refused it')
    },
  })
  const worker = await startWorker(serving.holdfast, [hasty], { logger: quiet })
  const escaped = once(worker.events, 'job.escaped')
  const { id } = await serving.holdfast.enqueue(hasty, {})
  expect(await escaped).toMatchObject([{ job: id, type: 'hasty', error: 'the mail server refused it' }])
  await eventually(async () => countersOf(await measured(), 'hasty').completed === 1)
  await worker.stop()
})

test('there are no dead letters, and jobs die: a counter has each, and a rule fires', async () => {
  const deadly = defineType({ type: 'deadly', limits: { breaker: false }, run: () => Promise.reject(new FatalError('no')) })
  const worker = await startWorker(serving.holdfast, [deadly], { logger: quiet })
  await serving.holdfast.enqueue(deadly, {})
  await eventually(async () => countersOf(await measured(), 'deadly').dead === 1)
  await serving.holdfast.deadLetters.discardMany({ type: 'deadly' }, { by: 'ada' })
  await worker.stop()
  expect((await measured()).get('holdfast_dlq_depth{type="deadly"}')).toBe(0)
  // A worker or the server may have looked already.
  await eventually(async () => {
    await serving.holdfast.alerts.look()
    return (await serving.holdfast.alerts.firing()).some(({ rule, subject }) => rule === 'dead-letters' && subject === 'deadly')
  })
})

test('ever more jobs complete, and one ran twice: what was fenced off is counted', async () => {
  await register('doubled')
  // biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
  const ask = async (path: string, body: unknown): Promise<any> => (await serving.call('POST', `/worker/${path}`, body)).json()
  const { worker } = await ask('register', { name: 'w', types: ['doubled'] })
  await serving.holdfast.enqueue('doubled', {})
  const settle = ({ id: job, lease }: { id: string; lease: string }) =>
    ask('settle', { worker, results: [{ job, lease, result: 'complete' }] })
  const claim = async () => (await ask('claim', { worker, limit: 1, wait: '10s' })).jobs
  const [slow] = await claim()
  await serving.sql.query(`update holdfast.leases set expires_at = holdfast.now() - interval '1 second'`)
  await eventually(async () => (await serving.holdfast.job(slow.id))?.attempts.length === 1)
  const [again] = await claim()
  await settle(again)
  await settle(slow)
  // The server writes down what it counted when it closes, if not before.
  await serving.comeBack()
  expect(countersOf(await measured(), 'doubled')).toMatchObject({ completed: 1, late: 1, rescued: 1 })
})

test('no enqueue fails, and producers send each job three times: there are more requests than jobs', async () => {
  await register('insisted')
  const asked = async () => (await measured()).get('holdfast_enqueue_requests_total') ?? 0
  await serving.comeBack()
  const before = await asked()
  for (let n = 0; n < 3; n++) await serving.post({ type: 'insisted', payload: {}, idempotency_key: 'k' })
  await serving.comeBack()
  expect((await asked()) - before).toBe(3)
  await eventually(async () => countersOf(await measured(), 'insisted').enqueued === 1)
})

test('what waits is young on the whole, and one priority starves: ages are told by priority', async () => {
  await register('banded')
  await serving.holdfast.enqueueMany([8, 8, 8, 1].map((priority) => ({ type: 'banded', payload: {}, priority })))
  await serving.sql.query(`update holdfast.queue set ready_at = ready_at - interval '1 hour' where priority = 1`)
  await eventually(async () => {
    const now = await measured()
    expect(now.get('holdfast_oldest_pending_job_age_seconds{priority="8"}')).toBeLessThan(600)
    expect(now.get('holdfast_oldest_pending_job_age_seconds{priority="1"}')).toBeGreaterThanOrEqual(3_600)
    return true
  })
})
