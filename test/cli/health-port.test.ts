import { defineType } from 'holdfast'
import type { Worker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { openHealthPort } from '../../src/cli/work/health-port.js'
import { processMetrics } from '../../src/cli/work/process-metrics.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

async function probe(health: Parameters<typeof openHealthPort>[2]) {
  const { port, close } = await openHealthPort('127.0.0.1', 0, health)
  onTestFinished(close)
  return async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { code: response.status, text: await response.text() }
  }
}

test('a worker is alive and not ready before it has started, then both, and while it drains alive and not ready', async () => {
  const queue = await makeQueue()
  let letGo: () => void = () => {}
  const end = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const slow = defineType({ type: 'slow', run: () => end })
  let worker: Worker | undefined
  const ask = await probe(() => worker?.health())
  expect([await ask('/healthz'), await ask('/readyz')]).toMatchObject([
    { code: 200, text: '{"status":"starting"}' },
    { code: 503, text: '{"status":"starting"}' },
  ])
  worker = await startHere(queue, [slow])
  expect([await ask('/healthz'), await ask('/readyz')]).toMatchObject([{ code: 200 }, { code: 200 }])
  await queue.holdfast.enqueue(slow, null)
  await eventually(() => worker?.health().running === 1)
  expect((await ask('/metrics')).text).toContain('\nholdfast_worker_jobs_running 1\n')
  const stopped = worker.stop()
  expect([await ask('/healthz'), await ask('/readyz')]).toMatchObject([
    { code: 200, text: '{"status":"stopping"}' },
    { code: 503, text: '{"status":"stopping"}' },
  ])
  expect((await ask('/metrics')).text).toContain('\nholdfast_worker_stopping 1\n')
  letGo()
  await stopped
})

test('a worker that the database leaves without an answer is to be restarted, and its reason, which names hosts, is not told', async () => {
  const health = { status: 'unhealthy', reason: 'no db.internal', running: 0, unwritten: 3, lastContactMs: 61_000 } as const
  const ask = await probe(() => health)
  expect(await ask('/healthz')).toEqual({ code: 503, text: '{"status":"unhealthy"}' })
  const { text } = await ask('/metrics')
  expect(text).toContain('\nholdfast_worker_healthy 0\n')
  expect(text).toContain('\nholdfast_worker_results_unwritten 3\n')
  expect(text).toContain('\nholdfast_worker_last_contact_seconds 61\n')
  for (const { name, kind } of Object.values(processMetrics)) {
    expect(text).toMatch(new RegExp(`# TYPE ${name} ${kind}\n${name} \\d`))
  }
  expect(await ask('/')).toMatchObject({ code: 404, text: expect.stringContaining('/readyz') })
})

test('a port that is taken is an error that names the option, before any job is claimed', async () => {
  const { port, close } = await openHealthPort('127.0.0.1', 0, () => undefined)
  onTestFinished(close)
  await expect(openHealthPort('127.0.0.1', port, () => undefined)).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: expect.stringContaining('--health-port'),
  })
})
