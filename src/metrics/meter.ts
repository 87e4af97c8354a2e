import { randomUUID } from 'node:crypto'
import { monotonicMs } from '../clock.js'
import { bounds, bucketOf } from '../job/buckets.js'
import type { Settlement } from '../job/settlement.js'
import type { MetricsStore, Note } from '../store/metrics-store.js'

/** The database knows a note for an hour. An older one might count twice. */
const sendAgainForMs = 50 * 60_000

/**
 * What this process knows and nobody writes down for each job: how long attempts took, results that came after their lease was
 * gone, requests to enqueue that were refused. Noted a few times a minute; a process that is killed takes what it had not noted with it.
 */
export class Meter {
  #durations = new Map<string, { counts: Float64Array; seconds: Float64Array }>()
  #late = new Map<string, number>()
  #refused = new Map<number, number>()
  #duties = new Map<string, { runs: number; failures: number; seconds: number }>()
  #dutiesFailed = false
  #unsent: { note: Note; takenAtMs: number } | undefined

  /** An attempt was settled. Only one that completed or failed tells how long its type takes. Times are of the monotonic clock. */
  ended(type: string, outcome: Settlement['outcome'], startedAtMs: number | null, endedAtMs: number): void {
    if (startedAtMs === null || outcome === 'snoozed' || outcome === 'handed_back') return
    let taken = this.#durations.get(type)
    if (!taken) {
      taken = { counts: new Float64Array(bounds.length + 1), seconds: new Float64Array(bounds.length + 1) }
      this.#durations.set(type, taken)
    }
    const seconds = (endedAtMs - startedAtMs) / 1_000
    const bucket = bucketOf(seconds)
    taken.counts[bucket] = (taken.counts[bucket] as number) + 1
    taken.seconds[bucket] = (taken.seconds[bucket] as number) + seconds
  }

  /** A result came after its lease was gone; nothing was changed. */
  cameLate(type: string): void {
    this.#late.set(type, (this.#late.get(type) ?? 0) + 1)
  }

  /** A request to enqueue was answered with this status. */
  refused(status: number): void {
    this.#refused.set(status, (this.#refused.get(status) ?? 0) + 1)
  }

  /** A duty had something to do. */
  duty({ duty, ms, failures }: { duty: string; ms: number; failures: number }): void {
    const so = this.#duties.get(duty) ?? { runs: 0, failures: 0, seconds: 0 }
    this.#duties.set(duty, { runs: so.runs + 1, failures: so.failures + failures, seconds: so.seconds + ms / 1_000 })
    this.#dutiesFailed ||= failures > 0
  }

  /** Writes down what came since the last time. What cannot be written is kept, and sent again under the same id. */
  async note(store: MetricsStore): Promise<void> {
    if (this.#unsent && monotonicMs() - this.#unsent.takenAtMs > sendAgainForMs) this.#unsent = undefined
    this.#unsent ??= this.#take()
    const sent = this.#unsent
    if (!sent) return
    await store.note(sent.note)
    if (this.#unsent === sent) this.#unsent = undefined
  }

  #take(): { note: Note; takenAtMs: number } | undefined {
    // Duties that went well go along with the next note: a gate that is looked at all day is no reason to write.
    if (this.#durations.size + this.#late.size + this.#refused.size === 0 && !this.#dutiesFailed) return undefined
    const durations = [...this.#durations].flatMap(([type, { counts, seconds }]) =>
      [...counts].flatMap((count, bucket) => (count > 0 ? [{ type, bucket, count, seconds: seconds[bucket] as number }] : [])),
    )
    const late = [...this.#late].map(([type, count]) => ({ type, count }))
    const refusals = [...this.#refused].map(([status, count]) => ({ status, count }))
    this.#durations = new Map()
    this.#late = new Map()
    this.#refused = new Map()
    const duties = [...this.#duties].map(([duty, so]) => ({ duty, ...so }))
    this.#duties = new Map()
    this.#dutiesFailed = false
    return { note: { id: randomUUID(), durations, late, refusals, duties }, takenAtMs: monotonicMs() }
  }
}
