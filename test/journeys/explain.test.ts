import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker } from 'holdfast/worker'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
let scratch: ScratchDatabase
let holdfast: Holdfast
let worker: Worker | undefined
let release: () => void

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  await holdfast.registerTypes([job])
})
afterEach(async () => {
  release?.()
  await worker?.stop()
  worker = undefined
  await holdfast.close()
  await scratch.drop()
})

/** Runs until it is released, except for those that are told to fail. */
const job = defineType({
  type: 'explained',
  lane: 'interactive',
  maxAttempts: 20,
  async run(payload, ctx) {
    if (payload === 'fail') throw new Error('as told')
    if (payload === 'stop key') return ctx.stop('1h', 'key')
    if (payload === 'stop type') return ctx.stop('1h', 'type')
    if (payload === 'hold') {
      await new Promise<void>((resolve) => {
        release = resolve
      })
    }
    return undefined
  },
})

async function work(): Promise<void> {
  worker = await startWorker(holdfast, [job], { logger: quiet })
}

async function stopWork(): Promise<void> {
  await worker?.stop()
  worker = undefined
}

async function firstGate(id: string) {
  const { gates } = (await holdfast.explain(id)) ?? { gates: [] }
  return gates[0]
}

async function running(payload: string, options = {}): Promise<string> {
  const { id } = await holdfast.enqueue(job, payload, options)
  await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe('processing'), { timeout: 20_000 })
  return id
}

describe('explain names the gate', () => {
  it('scheduled: until when', async () => {
    const { id } = await holdfast.enqueue(job, null, { delay: '1h' })
    const gate = await firstGate(id)
    expect(gate).toMatchObject({ gate: 'scheduled' })
    expect(gate?.opensInMs).toBeGreaterThan(3_500_000)
  })

  it('retry: the last attempt failed', async () => {
    await work()
    const { id } = await holdfast.enqueue(job, 'fail')
    await vi.waitFor(async () => expect((await firstGate(id))?.gate).toBe('retry'), { timeout: 20_000 })
  })

  it('no worker: nobody handles the type', async () => {
    const { id } = await holdfast.enqueue(job, null)
    expect(await firstGate(id)).toMatchObject({ gate: 'no_worker', why: 'no live worker handles explained' })
  })

  it('running: where and since when', async () => {
    await work()
    expect(await firstGate(await running('hold'))).toMatchObject({ gate: 'running' })
  })

  it('type paused: by whom and why', async () => {
    await holdfast.flow.pauseType('explained', { by: 'ada', why: 'the mail server is down' })
    const { id } = await holdfast.enqueue(job, null)
    expect(await firstGate(id)).toMatchObject({
      gate: 'type_paused',
      why: 'explained was paused by ada (the mail server is down)',
      opens: 'resuming explained',
    })
  })

  it('key paused: by whom', async () => {
    await holdfast.flow.pauseKey('explained', 'acme', { by: 'ada' })
    const { id } = await holdfast.enqueue(job, null, { concurrencyKey: 'acme' })
    expect(await firstGate(id)).toMatchObject({ gate: 'key_paused', why: 'key acme of explained was paused by ada' })
  })

  it('lane drained: by whom', async () => {
    await work()
    await holdfast.flow.drainLane('interactive', { by: 'ada', why: 'deploy' })
    const { id } = await holdfast.enqueue(job, null)
    expect(await firstGate(id)).toMatchObject({ gate: 'lane_drained', why: 'lane interactive was drained by ada (deploy)' })
  })

  it('lane full: which jobs hold it', async () => {
    await work()
    await holdfast.flow.setLane('interactive', { slots: 1 }, { by: 'ada' })
    const holder = await running('hold')
    const { id } = await holdfast.enqueue(job, null)
    expect(await firstGate(id)).toMatchObject({ gate: 'lane_full', heldBy: [holder] })
  })

  it('concurrency: which jobs hold the limit', async () => {
    await work()
    await holdfast.flow.limit('explained', { maxRunning: 1 }, { by: 'ada' })
    const holder = await running('hold')
    const { id } = await holdfast.enqueue(job, null)
    expect(await firstGate(id)).toMatchObject({ gate: 'concurrency', heldBy: [holder] })
  })

  it('key concurrency: which jobs of the key hold its limit', async () => {
    await work()
    await holdfast.flow.limit('explained', { maxRunningPerKey: 1 }, { by: 'ada' })
    const holder = await running('hold', { concurrencyKey: 'acme' })
    const { id } = await holdfast.enqueue(job, null, { concurrencyKey: 'acme' })
    expect(await firstGate(id)).toMatchObject({ gate: 'key_concurrency', heldBy: [holder] })
  })

  it('rate: until when', async () => {
    await work()
    await holdfast.flow.limit('explained', { rate: { count: 1, per: '1h' } }, { by: 'ada' })
    const { id: first } = await holdfast.enqueue(job, null)
    await vi.waitFor(async () => expect((await holdfast.job(first))?.status).toBe('completed'), { timeout: 20_000 })
    const { id } = await holdfast.enqueue(job, null)
    const gate = await firstGate(id)
    expect(gate).toMatchObject({ gate: 'rate' })
    expect(gate?.opensInMs).toBeGreaterThan(3_500_000)
  })

  it('key rate: of a job that has just come, before anybody looked at its key', async () => {
    await work()
    await holdfast.flow.limit('explained', { ratePerKey: { count: 1, per: '1h' } }, { by: 'ada' })
    const { id: first } = await holdfast.enqueue(job, null, { concurrencyKey: 'acme' })
    await vi.waitFor(async () => expect((await holdfast.job(first))?.status).toBe('completed'), { timeout: 20_000 })
    await stopWork()
    const { id } = await holdfast.enqueue(job, null, { concurrencyKey: 'acme' })
    const gate = await firstGate(id)
    expect(gate).toMatchObject({ gate: 'key_rate' })
    expect(gate?.opensInMs).toBeGreaterThan(3_500_000)
  })

  it('stopped: a handler asked for it, for its key or its type', async () => {
    await work()
    await holdfast.enqueue(job, 'stop key', { concurrencyKey: 'acme' })
    await vi.waitFor(async () => expect(await holdfast.flow.gate('explained')).toBeDefined(), { timeout: 20_000 })
    const { id } = await holdfast.enqueue(job, null, { concurrencyKey: 'acme' })
    expect(await firstGate(id)).toMatchObject({ gate: 'key_stopped' })
    await holdfast.enqueue(job, 'stop type', { concurrencyKey: 'other' })
    await vi.waitFor(async () => expect((await holdfast.flow.gate('explained'))?.stoppedUntil).not.toBeNull(), {
      timeout: 20_000,
    })
    const { id: second } = await holdfast.enqueue(job, null, { concurrencyKey: 'third' })
    expect(await firstGate(second)).toMatchObject({ gate: 'type_stopped' })
  })

  it('breaker: why it opened and when the next probe goes', async () => {
    await holdfast.flow.breaker('explained', 'open', { by: 'ada', why: 'their status page is red' })
    const { id } = await holdfast.enqueue(job, null)
    const gate = await firstGate(id)
    expect(gate?.why).toBe('the breaker of explained is open: opened by ada: their status page is red')
    expect(gate?.opens).toMatch(/^a probe that succeeds; the next one goes in/)
  })

  it('in line: how many are ahead', async () => {
    const { id } = await holdfast.enqueue(job, null, { priority: 1 })
    await holdfast.enqueueMany(Array.from({ length: 7 }, () => job.job(null, { priority: 9 })))
    await insideOf(holdfast).store.registerWorker({ name: 'busy', host: 'h', pid: 1, version: '0', types: [1] })
    expect(await firstGate(id)).toMatchObject({ gate: 'in_line', why: 'it is free to run and 7 jobs are ahead of it' })
  })

  it('in line before the gate of its type: how many are ahead, and of its key where keys take turns', async () => {
    await holdfast.flow.limit('explained', { maxRunningPerKey: 2 }, { by: 'ada' })
    const enqueue = (concurrencyKey: string) => holdfast.enqueue(job, null, { concurrencyKey })
    for (const key of ['mine', 'mine', 'mine', 'theirs']) await enqueue(key)
    const { id } = await enqueue('mine')
    await insideOf(holdfast).store.registerWorker({ name: 'busy', host: 'h', pid: 1, version: '0', types: [1] })
    const why = 'it is free to run and 3 jobs are ahead of it of its key; keys take turns'
    expect(await firstGate(id)).toMatchObject({ gate: 'in_line', why })
  })

  it('ended: how', async () => {
    await work()
    const { id } = await holdfast.enqueue(job, null)
    await vi.waitFor(async () => expect(await firstGate(id)).toMatchObject({ gate: 'ended', why: 'it has ended: completed' }), {
      timeout: 20_000,
    })
  })
})
