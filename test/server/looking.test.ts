import { defineType, defineWorkflow } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const pay = defineType({
  type: 'pay',
  sensitive: true,
  timeout: '10s',
  maxAttempts: 1,
  run(payload) {
    if (payload === 'bad') throw new Error('declined')
  },
})
const order = defineWorkflow({
  name: 'order',
  tasks(task) {
    const charge = task('charge', { type: pay, payload: 'good' })
    return task('ship', { type: pay, payload: 'good', after: [charge], delay: '1h' })
  },
})

let serving: Serving
let call: Contract
beforeAll(async () => {
  serving = await serve()
  call = await contractOf(serving)
  await serving.holdfast.registerTypes([pay], { update: true })
  await serving.holdfast.executions.register(order)
})
afterAll(() => serving.end())

const get = async (path: string) => (await call('GET', path)).body
const idsIn = ({ jobs }: { jobs: { id: string }[] }) => jobs.map(({ id }) => id)

async function work(done: () => Promise<boolean>): Promise<void> {
  const worker = await startWorker(serving.holdfast, [pay], { logger: quiet, poll: '50ms', drain: 0 })
  await eventually(done).finally(() => worker.stop())
}

test('one job says where it comes from: its trace, batch, execution, schedule, time to start by, and what its type asks', async () => {
  const { holdfast } = serving
  const startBy = new Date(Date.now() + 3_600_000)
  const alone = await holdfast.enqueue(pay, 'good', { delay: '1h', startBy: new Date(startBy), traceparent })
  expect(await get(`/jobs/${alone.id}`)).toMatchObject({
    ...{ traceparent, version: 1, timeout_ms: 10_000, sensitive: true, start_by: startBy.toISOString(), error_group: null },
    ...{ batch_id: null, execution_id: null, task: null, item: null, schedule: null, scheduled_for: null },
  })
  const batch = await holdfast.batch({ name: 'many', jobs: [pay.job('good'), pay.job('bad')] })
  await holdfast.schedules.create({ name: 'nightly', type: 'pay', payload: 'good', cron: '@daily' }, who)
  const { job: ticked } = await holdfast.schedules.runNow('nightly', who)
  const execution = await holdfast.start(order, {})
  const [good = '', bad = ''] = batch.jobs.map(({ id }) => id)
  await work(async () => (await holdfast.job(bad))?.status === 'dead' && (await holdfast.job(good))?.status === 'completed')
  expect(await get(`/jobs/${bad}`)).toMatchObject({ batch_id: batch.id, error_group: expect.stringMatching(/^[0-9a-f]{16}$/) })
  expect(await get(`/jobs/${ticked}`)).toMatchObject({ schedule: 'nightly', scheduled_for: expect.any(String) })
  const [task] = (await get(`/executions/${execution.id}/tasks`)).tasks
  expect(await get(`/jobs/${task.job_id}`)).toMatchObject({ execution_id: execution.id, task: 'charge', batch_id: null })
  // A dead letter is the same story.
  expect(await get(`/admin/dlq/${bad}`)).toMatchObject({ batch_id: batch.id, sensitive: true })

  expect(idsIn(await get(`/jobs?batch=${batch.id}`))).toEqual([good, bad].sort().reverse())
  expect(idsIn(await get(`/jobs?batch=${batch.id}&status=dead`))).toEqual([bad])
  expect(idsIn(await get(`/jobs?batch=${execution.id}`))).toContain(task.job_id)
  const { finished_at } = await get(`/jobs/${good}`)
  const behind = new Date(Date.parse(finished_at) + 1).toISOString()
  expect(idsIn(await get(`/jobs?batch=${batch.id}&status=completed&ended_after=${finished_at}&ended_before=${behind}`))).toEqual([
    good,
  ])
  expect(idsIn(await get(`/jobs?batch=${batch.id}&status=completed&ended_before=${finished_at}`))).toEqual([])
  expect(idsIn(await get(`/jobs?ended_after=${behind}`))).not.toContain(good)
  expect(idsIn(await get('/jobs?ended_after=2020-01-01T00:00:00Z'))).not.toContain(alone.id)
  const counts = await get(`/jobs/counts?batch=${batch.id}`)
  expect(counts).toMatchObject({ completed: { count: 1, more: false }, dead: { count: 1, more: false }, pending: { count: 0 } })
  expect(await holdfast.jobCounts({ batch: batch.id })).toEqual(counts)
  const [discard] = await Promise.all([
    holdfast.bulkActions.estimate({ action: 'discard', filter: { batch: batch.id, endedAfter: new Date(0) } }),
  ])
  expect(discard).toEqual({ estimate: 1, more: false })
})

test('workflows are listed, and batches, executions and the audit log by status, name and time', async () => {
  const { holdfast } = serving
  expect((await get('/workflows')).workflows).toEqual([
    {
      ...{ name: 'order', version: 1, defined_at: expect.any(String) },
      tasks: [
        { name: 'charge', type: 'pay', workflow: null, after: [] },
        { name: 'ship', type: 'pay', workflow: null, after: ['charge'] },
      ],
    },
  ])
  const { key } = await holdfast.access.createKey({ service: 'wall', roles: ['viewer'], types: ['other'] }, who)
  expect((await call('GET', '/workflows', undefined, key)).body.workflows).toEqual([])

  const open = await holdfast.batch({ name: 'waits', jobs: [pay.job('good', { delay: '1h' })] })
  const [later, earlier] = [Date.now() + 86_400_000, Date.now() - 86_400_000].map((ms) => new Date(ms).toISOString())
  const batches = async (query: string) => (await get(`/batches?${query}`)).batches.map(({ id }: { id: string }) => id)
  expect(await batches('name=waits&status=running')).toEqual([open.id])
  expect(await batches('name=waits&status=succeeded')).toEqual([])
  expect(await batches(`name=waits&created_after=${earlier}&created_before=${later}`)).toEqual([open.id])
  expect(await batches(`created_after=${later}`)).toEqual([])
  expect((await get(`/executions?workflow=order&created_after=${earlier}`)).executions).toHaveLength(1)
  expect((await get(`/executions?created_after=${later}`)).executions).toEqual([])
  expect((await get(`/admin/audit?from=${earlier}&to=${later}`)).lines.length).toBeGreaterThan(0)
  expect((await get(`/admin/audit?to=${earlier}`)).lines).toEqual([])
  for (const [path, field] of [
    ['/batches?status=done', 'status'],
    ['/jobs?batch=none', 'batch'],
    ['/jobs?ended_after=yesterday', 'ended_after'],
    ['/jobs/counts?status=dead', 'status'],
    ['/admin/audit?from=yesterday', 'from'],
  ]) {
    expect((await call('GET', path as string)).body).toMatchObject({ status: 400, field })
  }
})
