import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
let scratch: ScratchDatabase
let holdfast: Holdfast
beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
})
afterEach(async () => {
  await holdfast.close()
  await scratch.drop()
})

describe('gates', () => {
  it('never runs more at once than the limit, and runs them all', { timeout: 120_000 }, async () => {
    let now = 0
    let most = 0
    let done = 0
    const job = defineType({
      type: 'limited',
      async run() {
        most = Math.max(most, ++now)
        await new Promise((r) => setTimeout(r, 5))
        now--
        done++
      },
    })
    await holdfast.registerTypes([job])
    await holdfast.flow.limit('limited', { maxRunning: 3 }, { by: 'ada' })
    const workers = await Promise.all([1, 2, 3].map(() => startWorker(holdfast, [job], { logger: quiet, concurrency: 10 })))
    await holdfast.enqueueMany(Array.from({ length: 90 }, () => job.job(null)))
    await vi.waitFor(() => expect(done).toBe(90), { timeout: 60_000 })
    expect(most).toBe(3)
    await Promise.all(workers.map((w) => w.stop()))
  })

  it('takes turns between keys', { timeout: 120_000 }, async () => {
    const order: string[] = []
    const job = defineType({
      type: 'fair',
      async run(p) {
        order.push(p as string)
      },
    })
    await holdfast.registerTypes([job])
    await holdfast.flow.limit('fair', { fair: true, maxRunning: 1 }, { by: 'ada' })
    await holdfast.enqueueMany(Array.from({ length: 120 }, () => job.job('hot', { concurrencyKey: 'hot' })))
    const worker = await startWorker(holdfast, [job], { logger: quiet, concurrency: 1 })
    await vi.waitFor(() => expect(order.length).toBeGreaterThan(10), { timeout: 20_000 })
    await holdfast.enqueue(job, 'cold', { concurrencyKey: 'cold' })
    const at = order.length
    await vi.waitFor(() => expect(order).toContain('cold'), { timeout: 20_000 })
    expect(order.indexOf('cold') - at).toBeLessThan(100)
    await vi.waitFor(() => expect(order.length).toBe(121), { timeout: 60_000 })
    await worker.stop()
  })

  it('opens the breaker of a type that fails, and closes it by a probe', async () => {
    let broken = true
    let runs = 0
    const job = defineType({
      type: 'breaks',
      maxAttempts: 20,
      backoff: { base: 10, cap: 10, jitter: 0 },
      async run() {
        runs++
        if (broken) throw new Error('down')
      },
    })
    await holdfast.registerTypes([job])
    await holdfast.flow.limit('breaks', { breaker: { probe: '300ms' } }, { by: 'ada' })
    const worker = await startWorker(holdfast, [job], { logger: quiet, concurrency: 2 })
    await holdfast.enqueueMany(Array.from({ length: 50 }, () => job.job(null)))
    await vi.waitFor(async () => expect((await holdfast.flow.gate('breaks'))?.breaker.open).toBe(true), {
      timeout: 20_000,
    })
    const before = runs
    await vi.waitFor(() => expect(runs).toBeGreaterThan(before + 1), { timeout: 20_000 })
    // Without it each of the fifty would have been tried twenty times by now or soon; test/journeys/breaker.test.ts counts exactly.
    expect(runs).toBeLessThan(200)
    broken = false
    await vi.waitFor(
      async () =>
        expect((await insideOf(holdfast).store.inspect.countByStatus())[0]).toMatchObject({ status: 'completed', count: 50 }),
      {
        timeout: 20_000,
      },
    )
    await worker.stop()
  })

  it('holds a paused type back and lets it go', async () => {
    let done = 0
    const job = defineType({ type: 'pausable', run: () => void done++ })
    const other = defineType({ type: 'other', run: () => void done++ })
    await holdfast.registerTypes([job, other])
    await holdfast.enqueueMany(Array.from({ length: 100 }, () => job.job(null)))
    await holdfast.flow.pauseType('pausable', { by: 'ada', why: 'the mail server is down' })
    const worker = await startWorker(holdfast, [job, other], { logger: quiet })
    await holdfast.enqueueMany([...Array.from({ length: 100 }, () => job.job(null)), other.job(null)])
    await vi.waitFor(() => expect(done).toBe(1), { timeout: 20_000 })
    await holdfast.flow.resumeType('pausable', { by: 'ada' })
    await vi.waitFor(() => expect(done).toBe(201), { timeout: 20_000 })
    await worker.stop()
  })
})
