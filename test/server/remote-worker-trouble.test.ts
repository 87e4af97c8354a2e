import { type AnyJobType, defineType, LeaseLostError } from 'holdfast'
import type { RemoteWorkerOptions } from 'holdfast/remote-worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aborted, ended, gate, working } from '../support/remote-worker.js'
import { adminKey, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 60_000 }
let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

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
    const worker = await working(serving, [guarded], { lease: '4s', unsafe: true })
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
    expect(await ended(serving, id)).toMatchObject({ status: 'completed', result: 'the second attempt' })
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
    const worker = await working(serving, [outage])
    const away = new Promise((resolve) => worker.events.once('database.away', resolve))
    const back = new Promise((resolve) => worker.events.once('database.back', resolve))
    const { id } = await serving.holdfast.enqueue(outage, {})
    await began.opened
    await serving.goAway()
    goOn.open()
    expect(await away).toMatchObject({ error: expect.any(String) })
    await serving.comeBack()
    await back
    expect(await ended(serving, id)).toMatchObject({ status: 'completed', result: { runs: 1 } })
    const next = await serving.holdfast.enqueue(outage, {})
    expect(await ended(serving, next.id)).toMatchObject({ status: 'completed' })
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
    const worker = await working(serving, [alone], { lease: '1s', unsafe: true })
    const lost = new Promise((resolve) => worker.events.once('lease.lost', resolve))
    const { id } = await serving.holdfast.enqueue(alone, {})
    await began.opened
    await serving.goAway()
    expect(await lost).toEqual({ leases: 1, jobs: 1 })
    await worker.stop({ now: true })
    await serving.comeBack()
    await serving.sql.query('select holdfast.rescue_leases(10, 100)')
    await working(serving, [alone])
    expect(await ended(serving, id)).toMatchObject({ status: 'completed', result: 'again' })
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
    const worker = await working(serving, [last])
    const [ends, hangs] = await serving.holdfast.enqueueMany([last.job({ ends: true }), last.job({ ends: false })])
    await Promise.all(began.map(({ opened }) => opened))
    const stopping = worker.stop()
    goOn.open()
    expect(await ended(serving, ends?.id as string)).toMatchObject({ status: 'completed' })
    await worker.stop({ now: true })
    await stopping
    expect(await serving.holdfast.job(hangs?.id as string)).toMatchObject({ status: 'pending' })
    const { rows } = await serving.sql.query('select from holdfast.workers where id = $1 and stopped_at is null', [worker.id])
    expect(rows).toEqual([])
  })

  test('an operator can order it: the worker finishes and ends', patient, async () => {
    const [began, goOn] = [gate(), gate()]
    const last = defineType({
      type: 'last',
      async run() {
        began.open()
        await goOn.opened
      },
    }) as AnyJobType
    const worker = await working(serving, [last], { lease: '4s', unsafe: true })
    const { id } = await serving.holdfast.enqueue(last, {})
    await began.opened
    await serving.call('POST', `/admin/workers/processes/${worker.id}/drain`, { why: 'a new version' })
    goOn.open()
    expect(await ended(serving, id)).toMatchObject({ status: 'completed' })
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
    const starting = working(serving, types as AnyJobType[], options as RemoteWorkerOptions, key)
    await expect(starting).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  })
})
