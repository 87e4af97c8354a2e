import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, type Serving, serve } from '../support/serving.js'

const program = fileURLToPath(new URL('../support/python_worker.py', import.meta.url))
const patient = { timeout: 120_000 }

let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

interface Said {
  what: string
  id?: number
  job?: string
  settled?: boolean
  code?: string
  checkpoint?: unknown
  why?: string
}

/** A worker in Python, a process of its own. It is gone when the test ends. */
function pythonWorker(type: string) {
  const child = spawn('python3', [program, serving.address, adminKey, type], { stdio: ['pipe', 'pipe', 'pipe'] })
  const said: Said[] = []
  let trouble = ''
  createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line) as Said))
  child.stderr.on('data', (text) => {
    trouble += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    said,
    ended,
    goOn: () => child.stdin.write('\n'),
    heard: (what: string, job?: string) =>
      eventually(
        () => {
          if (trouble !== '') throw new Error(trouble)
          return said.find((one) => one.what === what && (job === undefined || one.job === job))
        },
        { within: 60_000 },
      ),
  }
}

const enqueue = async (type: string, payload: object) => (await serving.holdfast.enqueue(type, payload)).id
const story = (id: string) => serving.holdfast.job(id)

test('a worker in Python claims, says how far it is, completes, and retries what failed', patient, async () => {
  const worker = pythonWorker('py.plain')
  await worker.heard('registered')
  // It waits already: the enqueue wakes it.
  const done = await enqueue('py.plain', { do: 'nothing' })
  await worker.heard('settled', done)
  expect(await story(done)).toMatchObject({
    status: 'completed',
    progress: { fraction: 0.5, note: 'half' },
    attempts: [{ outcome: 'completed', worker: 'python' }],
  })
  expect((await serving.holdfast.log(done)).map(({ line }) => line)).toEqual(['hello from Python'])

  const flaky = await enqueue('py.plain', { do: 'fail' })
  await eventually(async () => (await story(flaky))?.status === 'completed')
  const { attempts } = (await story(flaky)) as NonNullable<Awaited<ReturnType<typeof story>>>
  expect(attempts).toMatchObject([
    { outcome: 'failed', error: { name: 'RuntimeError', message: 'not yet' } },
    { outcome: 'completed' },
  ])
  expect(attempts[0]?.error).toHaveProperty('stack', expect.stringContaining('Traceback'))
  // The second attempt went on where the first had been.
  expect(worker.said.filter(({ what, job }) => what === 'claimed' && job === flaky).map(({ checkpoint }) => checkpoint)).toEqual([
    null,
    { page: 1 },
  ])
})

test('its steps run once each, while it sleeps and waits for a signal in between', patient, async () => {
  const worker = pythonWorker('py.steps')
  await worker.heard('registered')
  const id = await enqueue('py.steps', { do: 'steps' })
  await eventually(async () => (await story(id))?.status === 'blocked', { within: 60_000 })
  await serving.holdfast.signal(id, 'go', { by: 'ada' })
  expect(await serving.holdfast.wait(id, { timeout: '60s' })).toEqual([{ n: 1 }, { by: 'ada' }])
  expect(worker.said.filter(({ what }) => what === 'ran')).toHaveLength(1)
  const { attempts, steps } = (await story(id)) as NonNullable<Awaited<ReturnType<typeof story>>>
  expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [1, 'snoozed'],
    [1, 'snoozed'],
    [1, 'completed'],
  ])
  expect(steps.map(({ name, kind, state }) => `${name} ${kind} ${state}`)).toEqual([
    ...['one step completed', 'nap sleep completed', 'go signal completed'],
  ])
})

test('its heartbeats keep a lease longer than it lasts, and tell it when its job is cancelled', patient, async () => {
  const worker = pythonWorker('py.beating')
  await worker.heard('registered')
  const long = await enqueue('py.beating', { do: 'beat', seconds: 5 })
  await worker.heard('settled', long)
  expect(await story(long)).toMatchObject({ status: 'completed', attempts: [{ outcome: 'completed' }] })
  const endless = await enqueue('py.beating', { do: 'wait' })
  await worker.heard('claimed', endless)
  await serving.holdfast.cancel(endless, { by: 'ada' })
  expect(await worker.heard('settled', endless)).toMatchObject({ settled: false, code: 'job_cancelled' })
  expect((await story(endless))?.status).toBe('cancelled')
  // It has reported the end, so nothing is held for it any more.
  expect((await serving.sql.query('select from holdfast.cancellations union all select from holdfast.leases')).rowCount).toBe(0)
})

test('one that lost its lease is refused: the next worker has the job, and completes it once', patient, async () => {
  const frozen = pythonWorker('py.frozen')
  await frozen.heard('registered')
  const id = await enqueue('py.frozen', { do: 'freeze' })
  await frozen.heard('claimed', id)
  const second = pythonWorker('py.frozen')
  await second.heard('claimed', id)
  // The first one comes to itself while the second has the job.
  frozen.goOn()
  expect(await frozen.heard('settled', id)).toMatchObject({ settled: false, code: 'lease_lost' })
  expect((await story(id))?.status).not.toBe('completed')
  second.goOn()
  // The second one was silent too, so its lease may have run out as well; whoever holds it last completes it.
  await eventually(async () => ['completed', 'dead'].includes((await story(id))?.status ?? ''), { within: 60_000 })
  const outcomes = (await story(id))?.attempts.map(({ outcome }) => outcome) ?? []
  expect(outcomes[0]).toBe('lease_expired')
  expect(outcomes.filter((outcome) => outcome === 'completed').length).toBeLessThanOrEqual(1)
})

test('an order to drain ends its work in good order', patient, async () => {
  const worker = pythonWorker('py.drained')
  const { id } = (await worker.heard('registered')) as { id: number }
  await serving.holdfast.flow.drainWorker(id, { by: 'ada', why: 'a new version' })
  // It waits for jobs, and hears it with its next call.
  await enqueue('py.drained', { do: 'nothing' })
  expect(await worker.heard('drain')).toMatchObject({ why: 'a new version' })
  await worker.heard('signed off')
  expect(await worker.ended).toBe(0)
})
