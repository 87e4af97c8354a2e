import { monotonicMs, sleep } from '../clock.js'
import { type AnyJobType, defineType } from '../job/type.js'
import type { BulkStore } from '../store/bulk-store.js'

/** How many jobs one transaction changes at most. */
const portion = 500
/** For how long an attempt goes on before it gives its slot back, so that another bulk action has a turn. */
const turnMs = 20_000

const bulkJobs = {
  type: 'holdfast:bulk',
  priority: 9,
  maxAttempts: 20,
  timeout: '5m',
  backoff: { base: '1s', factor: 2, cap: '1m', jitter: '1s' },
  limits: { breaker: false },
} as const

/** The definition that whoever creates a bulk action registers. */
export const bulkType: AnyJobType = defineType(bulkJobs)

/**
 * Carries out a bulk action. Each portion is one transaction that also counts and moves the cursor, so a worker that is killed has done a
 * portion or has not, and the next attempt goes on behind it. Every worker runs it: otherwise one would wait for a worker that nobody starts.
 */
export function bulkWork(store: BulkStore): AnyJobType {
  return defineType({
    ...bulkJobs,
    async run(_payload, { job, signal, progress, snooze }) {
      const perSecond = (await store.list({ id: job.id }, 1))[0]?.pace ?? null
      const limit = perSecond === null ? portion : Math.max(1, Math.min(portion, Math.floor(perSecond)))
      const beganAt = monotonicMs()
      for (;;) {
        const { more, taken, matched, estimate } = await store.portion(job.id, limit)
        progress(more ? Math.min(0.99, matched / Math.max(1, estimate)) : 1, `${matched} jobs`)
        if (!more) return undefined
        const waitMs = perSecond === null ? 0 : (taken / perSecond) * 1_000
        if (signal.aborted || monotonicMs() - beganAt + waitMs > turnMs) return snooze(Math.ceil(waitMs))
        if (waitMs > 0) await sleep(waitMs, { signal })
      }
    },
  })
}
