import { type AnyJobType, defineType, defineWorkflow, FatalError, RetryableError, type RunContext } from 'holdfast'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { aborted, ended, gate, working } from '../support/remote-worker.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const patient = { timeout: 60_000 }
let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

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
    await working(serving, [draw], { onComplete: ({ job }) => done.push(job) })
    const { id } = await serving.holdfast.enqueue(draw, { pages: 10 })
    expect(await ended(serving, id)).toMatchObject({ status: 'completed', result: { drawn: 10, attempt: 1 } })
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
    expect(await ended(serving, id)).toMatchObject({ status: 'completed', result: { drawn: 3 } })
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
    await working(serving, [climb], { onDead: ({ job, reason }) => dead.push(`${job} ${reason}`) })
    const [up, bad] = await serving.holdfast.enqueueMany([climb.job({ bad: false }), climb.job({ bad: true })])
    expect(await ended(serving, up?.id as string)).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([undefined, { metres: 1 }, { metres: 2 }])
    expect(await ended(serving, bad?.id as string)).toMatchObject({
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
    await working(serving, [order])
    const { id } = await serving.holdfast.enqueue(order, {})
    await eventually(async () => (await serving.holdfast.job(id))?.status === 'blocked')
    await serving.holdfast.signal(id, 'go', { by: 'ada' })
    expect(await ended(serving, id)).toMatchObject({
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
    await working(serving, [moved])
    const { id } = await serving.holdfast.enqueue(moved, {}, { maxAttempts: 2 })
    const { attempts } = await ended(serving, id)
    expect(attempts.at(-1)?.error).toMatchObject({ code: 'step_changed', message: expect.stringContaining('"second"') })
    expect(ran).toEqual(['attempt 1'])
  })

  test('fails where a handler has lost the sleep that its job stood in, and goes on once it has it again', patient, async () => {
    let sleeps = true
    const lost = defineType({
      type: 'lost',
      backoff: { base: '1h', cap: '1h' },
      run: async (_: object, ctx) => {
        if (sleeps) await ctx.sleep('1h')
        return 'awake'
      },
    }) as AnyJobType
    await working(serving, [lost])
    const { id } = await serving.holdfast.enqueue(lost, {})
    const isNow = (status: string) => eventually(async () => (await serving.holdfast.job(id))?.status === status)
    await isNow('scheduled')
    sleeps = false
    await serving.holdfast.runNow(id, who)
    await isNow('failed')
    const error = (await serving.holdfast.job(id))?.attempts.at(-1)?.error
    expect(error).toMatchObject({ code: 'step_changed', message: expect.stringContaining('"sleep"') })
    sleeps = true
    await serving.holdfast.runNow(id, who)
    expect(await ended(serving, id)).toMatchObject({ status: 'completed', result: 'awake' })
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
    await working(serving, [part])
    const { id } = await serving.holdfast.start(book, {})
    await eventually(async () => (await serving.holdfast.executions.get(id))?.status === 'completed')
    const { tasks } = await serving.holdfast.executions.tasks(id)
    const bind = tasks.find(({ name }) => name === 'bind')
    expect(await serving.holdfast.job(bind?.jobId as string)).toMatchObject({
      result: { name: 'bind', task: 'bind', parents: { cover: { name: 'cover', task: 'cover', parents: {} } } },
    })
    const old = await serving.holdfast.enqueue('part', 'spine' as never, { version: 1 } as never)
    expect(await ended(serving, old.id)).toMatchObject({ result: { name: 'spine', task: 'none' } })
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
    await working(serving, [index, slow], { concurrency: 2 })
    const made = await serving.holdfast.enqueueMany([
      ...[1, 2, 3].map((n) => index.job({ n })),
      ...Array.from({ length: 8 }, () => slow.job({})),
    ])
    for (const { id } of made) expect(await ended(serving, id)).toMatchObject({ status: 'completed' })
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
    const worker = await working(serving, [endless], { lease: '12s', unsafe: true })
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
    await working(serving, [inTx])
    const { id } = await serving.holdfast.enqueue(inTx, {})
    expect(await ended(serving, id)).toMatchObject({
      status: 'dead',
      attempts: [{ error: { code: 'unknown_transaction' } }],
    })
  })
})
