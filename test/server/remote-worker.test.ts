import {
  type AnyJobType,
  defineType,
  defineWorkflow,
  FatalError,
  LeaseLostError,
  RetryableError,
  type RunContext,
} from 'holdfast'
import { type RemoteWorkerOptions, startRemoteWorker } from 'holdfast/remote-worker'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const patient = { timeout: 60_000 }
let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

/** A worker of these types, that is gone when the test ends. */
async function working(types: AnyJobType[], options: RemoteWorkerOptions = {}, key = adminKey) {
  const worker = await startRemoteWorker({ url: serving.address, key }, types, { logger: quiet, ...options })
  onTestFinished(() => worker.stop({ now: true }))
  return worker
}

/** The job, once it has ended. */
const ended = (id: string) =>
  eventually(async () => {
    const job = await serving.holdfast.job(id)
    return ['completed', 'dead', 'cancelled'].includes(job?.status as string) && job
  })

/** A promise that a test resolves. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** Resolves when the signal fires, with its reason. */
const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }))

describe('a worker over HTTP', () => {
  test('runs typed handlers with a checked payload, log lines, progress and a result', patient, async () => {
    const draw = defineType({
      type: 'draw',
      uses: ['printer'],
      run: async ({ pages }: { pages: number }, { log, progress, job }) => {
        log.warn(`drawing ${pages} pages`)
        progress(0.5, 'half of them')
        return { drawn: pages, attempt: job.attempt }
      },
    }) as AnyJobType
    const done: string[] = []
    await working([draw], { onComplete: ({ job }) => done.push(job) })
    const { id } = await serving.holdfast.enqueue(draw, { pages: 10 })
    expect(await ended(id)).toMatchObject({ status: 'completed', result: { drawn: 10, attempt: 1 } })
    expect(await serving.holdfast.job(id)).toMatchObject({ progress: { fraction: 0.5, note: 'half of them' } })
    expect(await serving.holdfast.log(id)).toMatchObject([{ level: 'warn', line: 'drawing 10 pages' }])
    await eventually(() => done.includes(id))
    expect((await serving.holdfast.flow.dependency('printer')).types).toEqual(['draw'])
  })

  test('is started as docs/remote-worker.md says', patient, async () => {
    const [example = ''] = blocks(docsPage('remote-worker.md'), 'js')
    const here = example
      .replace("'https://jobs.example.com'", `'${serving.address}'`)
      .replace('process.env.HOLDFAST_KEY', `'${adminKey}'`)
      .replace('handleSignals: true', 'logger')
    const worker = await runExample(`${here}; return worker`, { defineType, startRemoteWorker, logger: quiet })
    onTestFinished(() => worker.stop({ now: true }))
    const { id } = await serving.holdfast.enqueue('make_pdf', { pages: 3 })
    expect(await ended(id)).toMatchObject({ status: 'completed', result: { drawn: 3 } })
  })

  test('retries when it is told to, goes on from the checkpoint, and ends what no retry can help', patient, async () => {
    const seen: unknown[] = []
    const climb = defineType({
      type: 'climb',
      backoff: () => 10,
      run: async ({ bad }: { bad: boolean }, { checkpoint, lastCheckpoint }) => {
        if (bad) throw new FatalError('there is no such hill')
        seen.push(await lastCheckpoint())
        await checkpoint({ metres: seen.length })
        if (seen.length === 1) throw new Error('out of breath')
        if (seen.length === 2) throw new RetryableError('a short rest', { after: '20ms' })
      },
    }) as AnyJobType
    const dead: string[] = []
    await working([climb], { onDead: ({ job, reason }) => dead.push(`${job} ${reason}`) })
    const [up, bad] = await serving.holdfast.enqueueMany([climb.job({ bad: false }), climb.job({ bad: true })])
    expect(await ended(up?.id as string)).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([undefined, { metres: 1 }, { metres: 2 }])
    expect(await ended(bad?.id as string)).toMatchObject({
      status: 'dead',
      attempts: [{ outcome: 'failed', error: { message: 'there is no such hill' } }],
    })
    await eventually(() => dead.includes(`${bad?.id} fatal`))
  })

  test('runs finished steps once, also those side by side, sleeps, and waits for a signal', patient, async () => {
    const ran: string[] = []
    const order = defineType({
      type: 'order',
      backoff: { base: 10, jitter: 0 },
      run: async (_: object, { step, once, sleep, waitFor, job }) => {
        const pay = (part: string) => step(part, async () => ran.push(part))
        await Promise.all([pay('left'), pay('right')])
        const key = await once('charge', async (sent) => sent)
        if (job.attempt === 1) throw new Error('the first attempt fails after the charge')
        await sleep('1ms')
        return { key, go: await waitFor('go') }
      },
    }) as AnyJobType
    await working([order])
    const { id } = await serving.holdfast.enqueue(order, {})
    await eventually(async () => (await serving.holdfast.job(id))?.status === 'blocked')
    await serving.holdfast.signal(id, 'go', { by: 'ada' })
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: { key: `${id}:charge`, go: { by: 'ada' } },
    })
    expect(ran.toSorted()).toEqual(['left', 'right'])
  })

  test('refuses a step that is another than an earlier attempt had, before it runs', patient, async () => {
    const ran: string[] = []
    const moved = defineType({
      type: 'moved',
      backoff: () => 10,
      run: async (_: object, { step, once, job }) => {
        await (job.attempt === 1 ? step : once)('second', () => ran.push(`attempt ${job.attempt}`))
        throw new Error('once more')
      },
    }) as AnyJobType
    await working([moved])
    const { id } = await serving.holdfast.enqueue(moved, {}, { maxAttempts: 2 })
    const { attempts } = await ended(id)
    expect(attempts.at(-1)?.error).toMatchObject({ code: 'step_changed', message: expect.stringContaining('"second"') })
    expect(ran).toEqual(['attempt 1'])
  })

  test('runs tasks of a workflow with what their parents returned, and older payloads brought up to date', patient, async () => {
    const part = defineType({
      type: 'part',
      version: 2,
      upcast: { 1: (name: string) => ({ name }) },
      run: async ({ name }: { name: string }, { parents, execution }: RunContext) => {
        const { task } = await execution().catch(() => ({ task: 'none' }))
        return { name, task, parents: await parents() }
      },
    }) as AnyJobType
    const book = defineWorkflow({
      name: 'book',
      tasks(task) {
        const cover = task('cover', { type: part, payload: { name: 'cover' } })
        task('bind', { type: part, payload: { name: 'bind' }, after: [cover] })
      },
    })
    await serving.holdfast.executions.register(book)
    await working([part])
    const { id } = await serving.holdfast.start(book, {})
    await eventually(async () => (await serving.holdfast.executions.get(id))?.status === 'completed')
    const { tasks } = await serving.holdfast.executions.tasks(id)
    const bind = tasks.find(({ name }) => name === 'bind')
    expect(await serving.holdfast.job(bind?.jobId as string)).toMatchObject({
      result: { name: 'bind', task: 'bind', parents: { cover: { name: 'cover', task: 'cover', parents: {} } } },
    })
    const old = await serving.holdfast.enqueue('part', 'spine' as never, { version: 1 } as never)
    expect(await ended(old.id)).toMatchObject({ result: { name: 'spine', task: 'none' } })
  })

  test('runs chunks in one call, and no more handlers at once than it has slots', patient, async () => {
    const calls: number[] = []
    const index = defineType({
      type: 'index',
      chunk: { size: 3, wait: '300ms' },
      run: async (jobs: { payload: unknown }[]) => {
        calls.push(jobs.length)
        return jobs.map(({ payload }) => payload)
      },
    } as never) as AnyJobType
    let [now, most] = [0, 0]
    const slow = defineType({
      type: 'slow',
      run: async () => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setTimeout(resolve, 20))
        now -= 1
      },
    }) as AnyJobType
    await working([index, slow], { concurrency: 2 })
    const made = await serving.holdfast.enqueueMany([
      ...[1, 2, 3].map((n) => index.job({ n })),
      ...Array.from({ length: 8 }, () => slow.job({})),
    ])
    for (const { id } of made) expect(await ended(id)).toMatchObject({ status: 'completed' })
    expect(calls.reduce((sum, n) => sum + n)).toBe(3)
    expect(most).toBe(2)
  })

  test('stops a handler whose job was cancelled, and whatever it returns, the job stays cancelled', patient, async () => {
    const began = gate()
    let reason: unknown
    const endless = defineType({
      type: 'endless',
      run: async (_: object, { signal }) => {
        began.open()
        reason = await aborted(signal)
      },
    }) as AnyJobType
    const worker = await working([endless], { lease: '12s', unsafe: true })
    const stopped = new Promise((resolve) => worker.events.once('job.cancelled', resolve))
    const { id } = await serving.holdfast.enqueue(endless, {})
    await began.opened
    await serving.holdfast.cancel(id, who)
    expect(await stopped).toMatchObject({ job: id })
    expect(reason).toMatchObject({ code: 'job_cancelled' })
    expect((await serving.holdfast.job(id))?.status).toBe('cancelled')
  })

  test('says that a job cannot end in a transaction of a database it does not have', patient, async () => {
    const inTx = defineType({
      type: 'in_tx',
      maxAttempts: 1,
      run: (_: object, ctx) => ctx.completeWith(async () => null),
    }) as AnyJobType
    await working([inTx])
    const { id } = await serving.holdfast.enqueue(inTx, {})
    expect(await ended(id)).toMatchObject({
      status: 'dead',
      attempts: [{ error: { code: 'unknown_transaction' } }],
    })
  })
})

describe('a lease that is lost', () => {
  const began = gate()
  const stopped = gate()
  const reasons: unknown[] = []
  const guarded = defineType({
    type: 'guarded',
    backoff: { base: 10, jitter: 0 },
    run: async (_: object, { signal, job, step, extendLease }) => {
      if (job.attempt > 1) return 'the second attempt'
      began.open()
      reasons.push(await aborted(signal))
      reasons.push(await step('late', () => 1).catch((error: unknown) => error))
      reasons.push(await extendLease('10s').catch((error: unknown) => error))
      stopped.open()
      return 'the first attempt'
    },
  }) as AnyJobType

  test('stops the handler, and nothing that it does afterwards is written', patient, async () => {
    const worker = await working([guarded], { lease: '4s', unsafe: true })
    const late = new Promise((resolve) => worker.events.once('settle.late', resolve))
    const { id } = await serving.holdfast.enqueue(guarded, {})
    await began.opened
    // What a rescue does to a worker that was silent for too long.
    await serving.sql.query(
      `update holdfast.leases set expires_at = holdfast.now() - interval '1 minute'; select holdfast.rescue_leases(10, 100)`,
    )
    await stopped.opened
    for (const reason of reasons) expect(reason).toBeInstanceOf(LeaseLostError)
    expect(await late).toMatchObject({ job: id })
    expect(await ended(id)).toMatchObject({ status: 'completed', result: 'the second attempt' })
  })
})

describe('a server that goes away', () => {
  test('is asked again until it is back; what has ended meanwhile is written then, and once', patient, async () => {
    const [began, goOn] = [gate(), gate()]
    let runs = 0
    const outage = defineType({
      type: 'outage',
      run: async () => {
        runs += 1
        began.open()
        await goOn.opened
        return { runs }
      },
    }) as AnyJobType
    const worker = await working([outage])
    const away = new Promise((resolve) => worker.events.once('database.away', resolve))
    const back = new Promise((resolve) => worker.events.once('database.back', resolve))
    const { id } = await serving.holdfast.enqueue(outage, {})
    await began.opened
    await serving.goAway()
    goOn.open()
    expect(await away).toMatchObject({ error: expect.any(String) })
    await serving.comeBack()
    await back
    expect(await ended(id)).toMatchObject({ status: 'completed', result: { runs: 1 } })
    const next = await serving.holdfast.enqueue(outage, {})
    expect(await ended(next.id)).toMatchObject({ status: 'completed' })
    expect(worker.health()).toMatchObject({ status: 'ok' })
  })

  test('for longer than a lease lasts, leaves no handler running that somebody else may run', patient, async () => {
    const began = gate()
    const alone = defineType({
      type: 'alone',
      backoff: { base: 10, jitter: 0 },
      run: async (_: object, { signal, job }) => {
        if (job.attempt > 1) return 'again'
        began.open()
        throw await aborted(signal)
      },
    }) as AnyJobType
    const worker = await working([alone], { lease: '1s', unsafe: true })
    const lost = new Promise((resolve) => worker.events.once('lease.lost', resolve))
    const { id } = await serving.holdfast.enqueue(alone, {})
    await began.opened
    await serving.goAway()
    expect(await lost).toEqual({ leases: 1, jobs: 1 })
    await worker.stop({ now: true })
    await serving.comeBack()
    await serving.sql.query('select holdfast.rescue_leases(10, 100)')
    await working([alone])
    expect(await ended(id)).toMatchObject({ status: 'completed', result: 'again' })
  })
})

describe('stopping', () => {
  test('finishes what runs, hands back what does not end in time, and signs off', patient, async () => {
    const began = [gate(), gate()]
    const goOn = gate()
    const last = defineType({
      type: 'last',
      run: async ({ ends }: { ends: boolean }) => {
        began[ends ? 0 : 1]?.open()
        if (!ends) return new Promise(() => {})
        await goOn.opened
      },
    }) as AnyJobType
    const worker = await working([last])
    const [ends, hangs] = await serving.holdfast.enqueueMany([last.job({ ends: true }), last.job({ ends: false })])
    await Promise.all(began.map(({ opened }) => opened))
    const stopping = worker.stop()
    goOn.open()
    expect(await ended(ends?.id as string)).toMatchObject({ status: 'completed' })
    await worker.stop({ now: true })
    await stopping
    expect(await serving.holdfast.job(hangs?.id as string)).toMatchObject({ status: 'pending' })
    const { rows } = await serving.sql.query('select from holdfast.workers where id = $1 and stopped_at is null', [worker.id])
    expect(rows).toEqual([])
  })

  test('an operator can order it: the worker finishes and ends', patient, async () => {
    const idle = defineType({ type: 'idle', run: () => {} }) as AnyJobType
    const worker = await working([idle], { lease: '4s', unsafe: true })
    await serving.call('POST', `/admin/workers/remote/${worker.id}/drain`, { why: 'a new version' })
    const { id } = await serving.holdfast.enqueue(idle, {})
    await ended(id)
    await worker.stopped
    expect(worker.health().status).toBe('stopping')
  })
})

describe('a start that cannot go well is refused at once', () => {
  const plain = defineType({ type: 'plain', run: () => {} }) as AnyJobType
  const limited = defineType({ type: 'limited', limits: { maxRunning: 1 }, run: () => {} }) as AnyJobType
  const sharing = defineType({
    type: 'sharing',
    uses: [{ name: 'stripe', limits: { maxRunning: 1 } }],
    run: () => {},
  }) as AnyJobType
  test.each([
    ['a wrong key', [plain], {}, 'hf_no-such-key-that-is-long-enough', 'unauthorized', /key/],
    ['no types', [], {}, adminKey, 'missing_handler', /no job types/],
    ['a type without a handler', [defineType({ type: 'bare' })], {}, adminKey, 'missing_handler', /bare has no run/],
    ['an unknown option', [plain], { concurency: 1 }, adminKey, 'invalid_configuration', /concurrency/],
    ['a dependency with limits', [sharing], {}, adminKey, 'invalid_configuration', /limits of what it uses cannot be registered/],
    ['a new type with limits', [limited], {}, adminKey, 'invalid_configuration', /limits cannot be registered over HTTP/],
  ])('%s', async (_what, types, options, key, code, message) => {
    const starting = working(types as AnyJobType[], options as RemoteWorkerOptions, key)
    await expect(starting).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })
})
