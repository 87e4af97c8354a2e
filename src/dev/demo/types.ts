import { sleep } from '../../clock.js'
import { defineDependency } from '../../job/dependency.js'
import { type AnyJobType, defineType } from '../../job/type.js'

/** Whether the payment provider of the demo answers. The demo switches it off for a while, so that the breaker has something to do. */
export const provider = { answers: true }

export const email = defineType({
  type: 'demo_email',
  lane: 'interactive',
  timeout: '10s',
  run: (_payload, { signal }) => work(200, signal),
})

export const flaky = defineType({
  type: 'demo_flaky',
  timeout: '10s',
  backoff: { base: '2s', factor: 1.5, cap: '10s', jitter: '1s' },
  async run(payload, { job, signal }) {
    await work(300, signal)
    const failures = Number((payload as { fails?: number } | null)?.fails ?? 1)
    if (job.attempt <= failures) throw new Error('the weather service answered 503 Service Unavailable')
  },
})

/** What reports, exports and thumbnails are read from and written to: they share what it bears. */
export const storage = defineDependency({ name: 'demo_storage', limits: { maxRunning: 10 } })

const pages = 15

export const report = defineType({
  type: 'demo_report',
  uses: [storage],
  timeout: '2m',
  async run(_payload, { log, progress, signal }) {
    for (let page = 1; page <= pages; page++) {
      progress(page / pages, `page ${page} of ${pages}`)
      if (page % 5 === 1) log(`reads the orders of page ${page}`)
      await work(45_000 / pages, signal)
    }
    return { pages }
  },
})

/** One at a time, and four come at once: most of the time some of them wait at the limit. */
export const bulkExport = defineType({
  type: 'demo_export',
  uses: [storage],
  timeout: '1m',
  limits: { maxRunning: 1 },
  async run(_payload, { progress, signal }) {
    progress(0.3, 'reads the table')
    await work(6_000, signal)
    progress(0.8, 'writes the file')
    await work(6_000, signal)
    return { rows: 48_000 }
  },
})

/** Has a breaker that opens soon and probes often, so that both are seen within a minute. */
export const payment = defineType({
  type: 'demo_payment',
  timeout: '10s',
  maxAttempts: 20,
  backoff: { base: '4s', factor: 1.2, cap: '15s', jitter: '2s' },
  limits: {
    rate: { count: 5, per: '1s' },
    maxRunningPerKey: 1,
    breaker: { share: 0.5, minimum: 5, window: '30s', probe: '10s' },
  },
  async run(_payload, { signal }) {
    await work(150, signal)
    if (!provider.answers) throw new Error('the payment provider refused the connection')
    return { paid: true }
  },
})

export const poison = defineType({
  type: 'demo_poison',
  timeout: '10s',
  maxAttempts: 2,
  // It always fails; with a breaker it would soon stop running.
  limits: { breaker: false },
  backoff: { base: '2s', cap: '2s', jitter: '500ms' },
  async run(payload, { signal }) {
    await work(200, signal)
    const { amount } = (payload ?? {}) as { amount?: number }
    if (amount !== undefined && amount <= 0) throw new RangeError('the amount of an invoice must be more than 0')
    if (amount === undefined) throw new TypeError("Cannot read properties of undefined (reading 'invoice')")
  },
})

/** Somebody has to approve each; without a decision it is cancelled after a while, so that they do not pile up. */
export const refund = defineType({
  type: 'demo_refund',
  timeout: '10s',
  sensitive: true,
  approval: { deadline: '10m', onDeadline: 'cancel' },
  async run(_payload, { signal }) {
    await work(300, signal)
    return { refunded: true }
  },
})

export const thumbnail = defineType({
  type: 'demo_thumbnail',
  uses: [storage],
  timeout: '10s',
  run: (_payload, { signal }) => work(900, signal),
})

export const cleanup = defineType({
  type: 'demo_cleanup',
  lane: 'maintenance',
  timeout: '30s',
  async run(_payload, { log, signal }) {
    await work(2_000, signal)
    log('17 old carts are gone')
  },
})

export const jobTypes: readonly AnyJobType[] = [email, flaky, report, bulkExport, payment, poison, refund, thumbnail, cleanup]

/** Simulates work. Fails early when the attempt should stop. */
export async function work(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, { signal })
  signal.throwIfAborted()
}
