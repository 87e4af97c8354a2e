import { type ShownStatus, type StatusAnswer, type StatusCount, shownStatuses } from '../api/status.js'
import { monotonicMs } from '../clock.js'
import { ReplicaFirst } from '../store/replica.js'
import type { CappedCount } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { version } from '../version.js'
import type { Worker } from '../worker/worker.js'

const counting = { atMost: 10_000, completedWithinMs: 600_000, completedAtMost: 1_000 }
const newest = 25
const freshForMs = 500

/** Asks the database at most twice a second, however many pages are open, and not again while it has not answered. */
export class StatusReader {
  readonly #store: Store
  readonly #worker: Worker | undefined
  #answer: Promise<Omit<StatusAnswer, 'worker' | 'replica'>> | undefined
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(store: Store, worker: Worker | undefined) {
    this.#store = store
    this.#worker = worker
  }

  async read(): Promise<StatusAnswer> {
    if (!this.#answer || monotonicMs() - this.#askedAt > freshForMs) this.#answer = this.#ask()
    const { used, lagMs, why } = ReplicaFirst.stateOf(this.#store.database) ?? {}
    const replica = used === undefined ? null : { used, lag_ms: lagMs ?? null, why: why ?? null }
    return { ...(await this.#answer), worker: workerStatus(this.#worker), replica }
  }

  async #ask(): Promise<Omit<StatusAnswer, 'worker' | 'replica'>> {
    this.#askedAt = Number.POSITIVE_INFINITY
    try {
      const [counts, jobs] = await Promise.all([
        this.#store.inspect.countForStatus(counting),
        this.#store.inspect.newestJobs(newest),
      ])
      const types = [...new Set(counts.map((row) => row.type))]
      return {
        version,
        completed_within_s: counting.completedWithinMs / 1000,
        counts: byStatus(counts),
        types: types.map((type) => ({ type, ...byStatus(counts.filter((row) => row.type === type)) })),
        jobs,
      }
    } finally {
      this.#askedAt = monotonicMs()
    }
  }
}

function byStatus(rows: readonly CappedCount[]): Record<ShownStatus, StatusCount> {
  const sum = (status: ShownStatus): StatusCount => {
    const those = rows.filter((row) => row.status === status)
    return { count: those.reduce((total, row) => total + row.count, 0), more: those.some((row) => row.cut) }
  }
  return Object.fromEntries(shownStatuses.map((status) => [status, sum(status)])) as Record<ShownStatus, StatusCount>
}

function workerStatus(worker: Worker | undefined): StatusAnswer['worker'] {
  if (!worker) return null
  const { status, reason, running, unwritten, lastContactMs } = worker.health()
  return { name: worker.name, status, reason: reason ?? null, running, unwritten, last_contact_ms: lastContactMs }
}
