import { defineType } from 'holdfast'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { expect, onTestFinished, test } from 'vitest'
import { contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, serve } from '../support/serving.js'
import { startHere } from '../support/worker-here.js'

/** What people do to one worker and see of it, whichever way it works. */
const blockMs = 700
const mail = defineType({
  type: 'mail',
  run: (payload: { block?: boolean }) => {
    const until = performance.now() + (payload.block ? blockMs : 0)
    while (performance.now() < until);
  },
})

async function setUp() {
  const serving = await serve()
  onTestFinished(() => serving.end())
  const call = await contractOf(serving)
  const shown = async () => (await call('GET', '/admin/workers/status')).body.workers
  return { ...serving, call, shown }
}

test('an SDK worker that is drained claims no more, and claims again when it is resumed, told at once both times', async () => {
  const { holdfast, call, shown } = await setUp()
  const worker = await startHere({ holdfast }, [mail])
  const path = `/admin/workers/processes/${worker.id}`
  expect((await call('POST', `${path}/drain`, { why: 'its host is replaced' })).status).toBe(204)
  await eventually(() => worker.health().warnings?.some((warning) => warning.includes('its host is replaced')) ?? false)
  expect(await shown()).toMatchObject([{ id: worker.id, drained: true, remote: false }])
  const { id } = await holdfast.enqueue(mail, {})
  expect((await holdfast.explain(id))?.gates[0]).toMatchObject({ gate: 'no_worker' })

  expect((await call('POST', `${path}/resume`, {})).status).toBe(204)
  await eventually(async () => (await holdfast.job(id))?.status === 'completed')
  expect(await shown()).toMatchObject([{ drained: false }])
})

test('a worker of a build that is drained whole is not resumed alone, and the answer names the build', async () => {
  const { holdfast, call, shown } = await setUp()
  const worker = await startHere({ holdfast }, [mail], { build: 'broken' })
  await holdfast.flow.builds.drain('broken', { by: 'ada' })
  const { status, body } = await call('POST', `/admin/workers/processes/${worker.id}/resume`, {})
  expect({ status, detail: body.detail }).toMatchObject({
    status: 409,
    detail: expect.stringContaining('resume the build "broken"'),
  })
  expect(await shown()).toMatchObject([{ drained: true }])
})

test('an SDK worker says with its heartbeat how late its event loop was, its memory, and how many connections it has', async () => {
  const { holdfast, shown } = await setUp()
  const worker = await startHere({ holdfast }, [mail], { lease: '2s' })
  await eventually(async () => (await shown())[0].connections >= 1)
  expect((await shown())[0].memory_bytes).toBeGreaterThan(20_000_000)
  // Twice, because what happens in the first tenth of a second of a worker is not measured.
  for (const { id } of [await holdfast.enqueue(mail, { block: true }), await holdfast.enqueue(mail, { block: true })])
    await eventually(async () => (await holdfast.job(id))?.status === 'completed')
  await eventually(async () => (await shown())[0].lag_ms > blockMs / 2)
  expect(worker.health().status).toBe('ok')
})

test('a worker over HTTP says so too with its claims, and one in another language what it likes of it', async () => {
  const { holdfast, address, sql, call, shown } = await setUp()
  await holdfast.registerTypes([mail])
  const worker = await startRemoteWorker({ url: address, key: adminKey }, [mail], { logger: quiet })
  onTestFinished(() => worker.stop({ now: true }))
  // A claim is noted where nothing was heard of the worker for five seconds.
  await sql.query("update holdfast.workers set seen_at = seen_at - interval '1 minute'")
  await holdfast.enqueue(mail, {})
  await eventually(async () => (await shown())[0].memory_bytes > 20_000_000)
  expect(await shown()).toMatchObject([{ remote: true, connections: null, lag_ms: expect.any(Number) }])

  const { worker: token, id } = (await call('POST', '/worker/register', { name: 'go', types: ['mail'] })).body
  await call('POST', '/worker/heartbeat', { worker: token, leases: [], vitals: { memory_bytes: 12 } })
  await call('POST', '/worker/heartbeat', { worker: token, leases: [], vitals: { lag_ms: 3, connections: 2 } })
  const go = (await shown()).find((one: { id: number }) => one.id === id)
  expect(go).toMatchObject({ lag_ms: 3, memory_bytes: 12, connections: 2 })
  const refused = await call('POST', '/worker/heartbeat', { worker: token, leases: [], vitals: { lag: 3 } })
  expect(refused.body).toMatchObject({ status: 400, field: 'vitals.lag' })
})
