import { randomUUID } from 'node:crypto'
import { monotonicMs } from '../clock.js'
import { bounds, bucketOf } from '../job/buckets.js'
import type { Settlement } from '../job/settlement.js'
import type { FleetCount, MetricsStore, Note } from '../store/metrics-store.js'
import { BuildCounts } from './build-counts.js'

/** The database knows a note for an hour. An older one might count twice. */
const sendAgainForMs = 50 * 60_000

/** How often something took how long, by bucket. */
class Durations {
  readonly #counts = new Float64Array(bounds.length + 1)
  readonly #seconds = new Float64Array(bounds.length + 1)

  add(seconds: number): void {
    const bucket = bucketOf(seconds)
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#seconds[bucket] = (this.#seconds[bucket] as number) + seconds
  }

  get buckets(): { bucket: number; count: number; seconds: number }[] {
    return [...this.#counts].flatMap((count, bucket) =>
      count > 0 ? [{ bucket, count, seconds: this.#seconds[bucket] as number }] : [],
    )
  }
}

/**
 * What this process knows and nobody writes down for each job: how long attempts took and had waited, results that came after their lease was
 * gone, requests to enqueue and to see a job, statements that did not reach the database. Noted a few times a minute; a process that is killed takes what it had not noted with it.
 */
export class Meter {
  #durations = new Map<string, Durations>()
  /** Of each type, by priority. */
  #waits = new Map<string, (Durations | undefined)[]>()
  #late = new Map<string, number>()
  #refused = new Map<number, number>()
  #duties = new Map<string, { runs: number; failures: number; seconds: number }>()
  #dutiesFailed = false
  #fleet = new Map<FleetCount, number>()
  readonly #builds = new BuildCounts()
  #unsent: { note: Note; takenAtMs: number } | undefined

  /** An attempt began, so long after it was due. */
  began(type: string, priority: number, waitedMs: number): void {
    let ofType = this.#waits.get(type)
    if (!ofType) {
      ofType = []
      this.#waits.set(type, ofType)
    }
    ofType[priority] ??= new Durations()
    // Clocks that were set meanwhile can make it begin before it was due.
    ofType[priority].add(Math.max(0, waitedMs) / 1_000)
  }

  /**
   * An attempt was settled. Only one that completed or failed tells how long its type takes. Times are of the monotonic clock. `build`: that of
   * its worker; null where it has none.
   */
  ended(
    type: string,
    settlement: Pick<Settlement, 'outcome' | 'move'>,
    startedAtMs: number | null,
    endedAtMs: number,
    build: string | null,
  ): void {
    const { outcome } = settlement
    if (startedAtMs === null || outcome === 'snoozed' || outcome === 'handed_back') return
    if (build !== null) this.#builds.ended(build, type, settlement, (endedAtMs - startedAtMs) / 1_000)
    let taken = this.#durations.get(type)
    if (!taken) {
      taken = new Durations()
      this.#durations.set(type, taken)
    }
    taken.add((endedAtMs - startedAtMs) / 1_000)
  }

  /** A result came after its lease was gone; nothing was changed. */
  cameLate(type: string): void {
    this.#late.set(type, (this.#late.get(type) ?? 0) + 1)
  }

  /** A request to enqueue was answered with this status. */
  enqueueAnswered(status: number): void {
    this.#count('enqueue_requests', 1)
    if (status >= 400) this.#refused.set(status, (this.#refused.get(status) ?? 0) + 1)
  }

  /** A request to see a job was answered with this status. */
  statusAnswered(status: number): void {
    this.#count('status_requests', 1)
    if (status >= 500) this.#count('status_errors', 1)
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
    this.#count('connection_errors', store.takeConnectionErrors())
    this.#unsent ??= this.#take()
    const sent = this.#unsent
    if (!sent) return
    await store.note(sent.note)
    if (this.#unsent === sent) this.#unsent = undefined
  }

  #count(what: FleetCount, count: number): void {
    if (count > 0) this.#fleet.set(what, (this.#fleet.get(what) ?? 0) + count)
  }

  #take(): { note: Note; takenAtMs: number } | undefined {
    // Duties that went well go along with the next note: a gate that is looked at all day is no reason to write.
    const news = this.#durations.size + this.#waits.size + this.#late.size + this.#refused.size + this.#fleet.size
    if (news === 0 && !this.#dutiesFailed) return undefined
    const durations = [...this.#durations].flatMap(([type, taken]) => taken.buckets.map((one) => ({ type, ...one })))
    const waits = [...this.#waits].flatMap(([type, ofType]) =>
      ofType.flatMap((waited, priority) => (waited?.buckets ?? []).map((one) => ({ type, priority, ...one }))),
    )
    const late = [...this.#late].map(([type, count]) => ({ type, count }))
    const refusals = [...this.#refused].map(([status, count]) => ({ status, count }))
    this.#durations = new Map()
    this.#waits = new Map()
    this.#late = new Map()
    this.#refused = new Map()
    const duties = [...this.#duties].map(([duty, so]) => ({ duty, ...so }))
    this.#duties = new Map()
    const fleet = [...this.#fleet].map(([what, count]) => ({ what, count }))
    this.#fleet = new Map()
    this.#dutiesFailed = false
    const note = { id: randomUUID(), durations, waits, late, refusals, duties, fleet, builds: this.#builds.take() }
    return { note, takenAtMs: monotonicMs() }
  }
}
