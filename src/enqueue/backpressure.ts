import { monotonicMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { OperatorStore } from '../store/operator-store.js'
import type { Depth } from '../store/rows.js'
import type { NewJob } from '../store/store.js'
import type { Queryable } from '../store/transaction.js'
import { refusal } from './pressure.js'

const freshForMs = 1_000
const defaultPriority = 5

interface Snapshot {
  takenAt: number
  depths: Depth[]
  /** What this process has added since the count was made, and when. */
  added: { at: number; jobs: number }[]
  /** What this process is adding right now: nobody knows whether a count sees it. */
  adding: { jobs: number }
}

/** To be called when the jobs have been stored, or could not be. */
export type AdmissionEnd = (stored: boolean) => void

/**
 * Refuses jobs when too many wait. Depths are read at most once a second for each set of types, in the background, and what
 * this process adds in between is counted here: one producer never gets past its limit, several may by what they add in a
 * second, and a transaction of the caller's by what it commits late. What is stored while a count is made may be counted
 * twice until the next one. Only a refusal waits for a fresh count. Reading begins when the jobs have been stored: before them, it
 * would have the connection that is open, and the first job after a rest would wait until another one is.
 */
export class Backpressure {
  readonly #store: OperatorStore
  readonly #snapshots = new Map<string, Snapshot>()
  readonly #refreshing = new Map<string, Promise<Snapshot>>()

  constructor(store: OperatorStore) {
    this.#store = store
  }

  /**
   * Throws when one of the jobs may not be added; then none is. In the caller's transaction everything is asked on its own
   * connection: there may be no other, and a pool whose every connection waits for another one would wait for ever.
   */
  async admit(jobs: readonly NewJob[], tx?: Queryable): Promise<AdmissionEnd> {
    const { types, lowest } = summed(jobs)
    let snapshot = await this.#snapshot(types, tx)
    if (refusal(withAdded(snapshot), lowest, jobs.length)) {
      // What was counted a moment ago may have drained since.
      if (!tx) snapshot = await this.#refresh(types)
      const refused = refusal(withAdded(snapshot), lowest, jobs.length)
      if (refused) {
        const { why, retryAfterMs, upTo } = refused
        const whom = upTo >= 9 ? 'no more jobs are taken' : `jobs of priority ${upTo} and below are not taken`
        throw new HoldfastError('too_much_waiting', `${why}; ${whom} for now`, { retryAfterMs })
      }
    }
    const { added, adding } = snapshot
    const wasStale = isStale(snapshot)
    adding.jobs += jobs.length
    return (stored) => {
      adding.jobs -= jobs.length
      const latest = this.#snapshots.get(types.join('\n'))
      if (stored) note(latest?.added ?? added, jobs.length)
      if (!tx && wasStale && isStale(latest)) this.#refresh(types).catch(keepTheOldOne)
    }
  }

  async #snapshot(types: string[], tx: Queryable | undefined): Promise<Snapshot> {
    const known = this.#snapshots.get(types.join('\n'))
    if (!known || (tx && isStale(known))) return this.#read(types, Number.POSITIVE_INFINITY, tx)
    return known
  }

  /** Counts and reads. Several callers at once share one. */
  #refresh(types: string[]): Promise<Snapshot> {
    const key = types.join('\n')
    const running = this.#refreshing.get(key)
    if (running) return running
    const refresh = this.#store
      .measureDepths()
      .then((countedAgoMs) => this.#read(types, countedAgoMs))
      .finally(() => this.#refreshing.delete(key))
    this.#refreshing.set(key, refresh)
    return refresh
  }

  async #read(types: string[], countedAgoMs: number, tx?: Queryable): Promise<Snapshot> {
    const key = types.join('\n')
    const countedAt = monotonicMs() - countedAgoMs
    const depths = await this.#store.depthsUnderLimit(types, tx)
    // What was added since the count is not in it.
    const before = this.#snapshots.get(key)
    const added = (before?.added ?? []).filter((add) => add.at >= countedAt)
    const snapshot = { takenAt: monotonicMs(), depths, added, adding: before?.adding ?? { jobs: 0 } }
    if (this.#snapshots.size > 1_000) this.#snapshots.clear()
    this.#snapshots.set(key, snapshot)
    return snapshot
  }
}

function isStale(snapshot: Snapshot | undefined): boolean {
  return !snapshot || monotonicMs() - snapshot.takenAt > freshForMs
}

/** Their types in order, and the lowest priority among them. */
function summed(jobs: readonly NewJob[]): { types: string[]; lowest: number } {
  const types = new Set<string>()
  let lowest = 9
  let last: string | undefined
  for (const { type, priority } of jobs) {
    if (type !== last) types.add(type)
    last = type
    lowest = Math.min(lowest, priority ?? defaultPriority)
  }
  return { types: [...types].sort(), lowest }
}

/** Adds within a moment of each other are one entry: there are at most fifty a second, however fast jobs come. */
function note(added: Snapshot['added'], jobs: number): void {
  const now = monotonicMs()
  const last = added.at(-1)
  if (last && now - last.at < 20) last.jobs += jobs
  else added.push({ at: now, jobs })
}

/** The next enqueue tries again; until then what is known and what was added here is enough. */
function keepTheOldOne(): void {}

function withAdded({ depths, added, adding }: Snapshot): Depth[] {
  const jobs = added.reduce((sum, add) => sum + add.jobs, adding.jobs)
  return depths.map((depth) => ({ ...depth, waiting: depth.waiting + jobs }))
}
