import { Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { readMeasured } from '../support/measured.js'
import { quiet, type Serving, serve } from '../support/serving.js'
import { work } from '../support/small-worker.js'

let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

interface Shown {
  id: number
  name: string
  seen_at: string
  looked_at: string | null
  stalled: boolean
}
const workers = async (): Promise<Shown[]> => (await (await serving.ask('/admin/workers/status')).json()).workers
const measured = async () => readMeasured(await (await serving.ask('/metrics')).text())

test('a worker whose heart beats and that has not looked for jobs for a minute is shown as stalled, to people and to Prometheus', async () => {
  await serving.sql.query(`
    insert into holdfast.workers (name, host, pid, version, started_at, seen_at, looked_at)
    select w.name, 'here', 1, '0', holdfast.now() - interval '1 hour', holdfast.now() - w.seen::interval, holdfast.now() - w.looked::interval
    from (values ('looks', '5 s', '20 s'), ('stalled', '5 s', '70 s'), ('never looked', '5 s', null), ('silent', '10 min', '10 min'))
      as w (name, seen, looked)`)
  expect((await workers()).map(({ name, stalled }) => [name, stalled])).toEqual([
    ['looks', false],
    ['stalled', true],
    ['never looked', true],
    ['silent', false],
  ])
  expect((await measured()).get('holdfast_stalled_workers')).toBe(2)
  await serving.sql.query('delete from holdfast.workers')
})

test('heartbeats say when a worker last looked, and go on while it cannot', async () => {
  const holdfast = new Holdfast({
    connectionString: insideOf(serving.holdfast).store.database.clientConfig.connectionString as string,
  })
  const worker = await startWorker(holdfast, [work()], { logger: quiet, lease: '2s', unsafe: true })
  const shown = async () => (await workers()).find(({ id }) => id === worker.id) as Shown
  try {
    const first = await eventually(async () => (await shown()).looked_at ?? undefined)
    await eventually(async () => ((await shown()).looked_at as string) > first)
    await serving.sql.query('alter function holdfast.claim_jobs rename to claim_jobs_gone')
    // An idle worker to whom nothing is free does not claim; with a job it has to.
    const { id } = await holdfast.enqueue('work', {})
    const behind = async () => {
      const { seen_at: seen, looked_at: looked } = await shown()
      return Date.parse(seen) - Date.parse(looked as string)
    }
    await eventually(async () => (await behind()) > 3_000)
    await serving.sql.query('alter function holdfast.claim_jobs_gone rename to claim_jobs')
    await eventually(async () => (await holdfast.job(id))?.status === 'completed')
    await eventually(async () => (await behind()) < 2_000)
  } finally {
    await worker.stop()
    await holdfast.close()
  }
}, 60_000)

test('a lease shorter than a statement may take is refused when the worker starts', async () => {
  const holdfast = new Holdfast({
    connectionString: insideOf(serving.holdfast).store.database.clientConfig.connectionString as string,
    statementTimeout: '2m',
  })
  await expect(startWorker(holdfast, [work()], { logger: quiet })).rejects.toMatchObject({
    code: 'invalid_configuration',
    message: expect.stringMatching(/lease is 1m, shorter than statementTimeout, which is 2m/),
  })
  await holdfast.close()
})
