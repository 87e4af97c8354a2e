import { sleep } from '../clock.js'
import type { Holdfast } from '../holdfast.js'
import { type AnyJobType, defineType, type JobRequest } from '../job/type.js'

const people = ['ada', 'grace', 'linus', 'margaret', 'dennis', 'barbara', 'ken', 'frances']

const email = defineType({
  type: 'demo_email',
  timeout: '10s',
  run: (_payload, { signal }) => work(200, signal),
})

const flaky = defineType({
  type: 'demo_flaky',
  timeout: '10s',
  backoff: { base: '2s', factor: 1.5, cap: '10s', jitter: '1s' },
  async run(payload, { job, signal }) {
    await work(300, signal)
    const failures = Number((payload as { fails?: number } | null)?.fails ?? 1)
    if (job.attempt <= failures) throw new Error('the weather service answered 503 Service Unavailable')
  },
})

const report = defineType({
  type: 'demo_report',
  timeout: '2m',
  run: (_payload, { signal }) => work(45_000, signal),
})

const poison = defineType({
  type: 'demo_poison',
  timeout: '10s',
  maxAttempts: 2,
  // It always fails; with a breaker it would soon stop running.
  limits: { breaker: false },
  backoff: { base: '2s', cap: '2s', jitter: '500ms' },
  async run(_payload, { signal }) {
    await work(200, signal)
    throw new TypeError("Cannot read properties of undefined (reading 'invoice')")
  },
})

/** One type for each way a job can end: at once, after failures, after a long time, and dead. */
export const demoTypes: readonly AnyJobType[] = [email, flaky, report, poison]

/** The jobs of each second. The rare ones come early, so that all are seen within the first seconds. */
export function demoJob(second: number): JobRequest {
  const person = people[second % people.length] as string
  if (second % 30 === 2) return report.job({ month: 'July', requested_by: `${person}@example.com` })
  if (second % 30 === 3) return poison.job({ customer: person })
  if (second % 5 === 1) return flaky.job({ city: 'Oslo', fails: 1 + (Math.floor(second / 5) % 2) })
  return email.job({ to: `${person}@example.com`, subject: 'Welcome aboard' })
}

/** Enqueues about one job a second until `stop` resolves. A job that cannot be enqueued is reported and skipped. */
export function startDemo(holdfast: Holdfast, onTrouble: (error: unknown) => void): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    for (let second = 0; !signal.aborted; second++) {
      await holdfast.enqueueMany([demoJob(second)]).catch(onTrouble)
      await sleep(1_000, { signal })
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Simulates work. Fails early when the attempt should stop. */
async function work(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, { signal })
  signal.throwIfAborted()
}
