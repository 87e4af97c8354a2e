import { monotonicMs, sleep, wallMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { Depth } from '../store/load-rows.js'
import type { OperatorStore } from '../store/operator-store.js'
import type { NewJob } from '../store/store.js'
import type { Queryable } from '../store/transaction.js'
import { Added } from './added.js'
import { type Class, type Counts, refusal } from './pressure.js'

const freshForMs = 1_000
/** For how long a refusal may keep the caller's transaction open to count once more. */
const patienceInTransactionMs = 1_000
/** If this process gets no connection to count for so long, it forgets what it added before: other processes count it. */
const countedByOthersMs = 60_000
const defaultPriority = 5
const classes: readonly Class[] = ['ready', 'scheduled', 'unapproved']

interface Snapshot {
  /** When this process last asked for a count; at first: when the depths were read. */
  askedAt: number
  /** When the depths were read, which can be later: through the caller's transaction they are read without a count. */
  readAt: number
  depths: Depth[]
  /** What this process has added since the count was made. */
  added: Record<Class, Added>
  /** Jobs that this process is storing right now: a count may see them or not. */
  adding: Counts
}

/** Call it when the jobs have been stored, or could not be. */
export type AdmissionEnd = (stored: boolean) => void

/**
 * Refuses jobs when too many wait. It counts depths at most once a second for each set of types, in the background, and adds what
 * this process stores in between: one producer never exceeds the limit, several may by what they add in a second, and a
 * transaction of the caller's by what it commits late. Jobs stored while a count is made may be counted twice until the next
 * one, and so may jobs of a transaction that rolls back. Only a refusal waits for a fresh count. Counting begins after the jobs have
 * been stored: before, it would take the only open connection, and the first job after a pause would wait until another one is open.
 */
export class Backpressure {
  readonly #store: OperatorStore
  readonly #snapshots = new Map<string, Snapshot>()
  readonly #refreshing = new Map<string, Promise<Snapshot>>()

  constructor(store: OperatorStore) {
    this.#store = store
  }

  /**
   * Throws when one of the jobs may not be added; then none is. With the caller's transaction the count runs on a connection of
   * ours, but is not waited for if the transaction may come from the same pool: when each connection of a pool waits for another
   * one, all wait for ever. Then the depths are read through the transaction, and the count is there for the next try.
   */
  async admit(jobs: readonly NewJob[], tx?: Queryable): Promise<AdmissionEnd> {
    const { types, lowest, asked } = summed(jobs)
    let snapshot = await this.#snapshot(types, tx)
    const counts = snapshot.depths[0]?.approves ? { ready: 0, scheduled: 0, unapproved: jobs.length } : asked
    if (refusal(withAdded(snapshot), lowest, counts)) {
      // Jobs that were counted a moment ago may have ended since.
      snapshot = tx ? await this.#refreshBeside(types, tx) : await this.#refresh(types)
      const refused = refusal(withAdded(snapshot), lowest, counts)
      if (refused) {
        const { why, retryAfterMs, upTo } = refused
        const whom = upTo >= 9 ? 'no more jobs are taken' : `jobs of priority ${upTo} and below are not taken`
        throw new HoldfastError('too_much_waiting', `${why}; ${whom} for now`, { retryAfterMs })
      }
    }
    const { added, adding } = snapshot
    for (const one of classes) adding[one] += counts[one]
    return (stored) => {
      for (const one of classes) {
        adding[one] -= counts[one]
        if (stored && counts[one] > 0) added[one].add(counts[one])
      }
      const latest = this.#snapshots.get(types.join('\n'))
      if (!latest || isPast(latest.askedAt, freshForMs)) this.#refresh(types).catch(keepTheOldOne)
    }
  }

  async #snapshot(types: string[], tx: Queryable | undefined): Promise<Snapshot> {
    const known = this.#snapshots.get(types.join('\n'))
    if (!known) return this.#read(types, tx)
    return tx && isPast(known.readAt, freshForMs) ? this.#read(types, tx) : known
  }

  /** Counts and reads. Several callers at once share one. */
  #refresh(types: string[]): Promise<Snapshot> {
    const key = types.join('\n')
    const running = this.#refreshing.get(key)
    if (running) return running
    const known = this.#snapshots.get(key)
    if (known) known.askedAt = monotonicMs()
    const refresh = this.#store
      .measureDepths()
      .then((countedAgoMs) => this.#read(types, undefined, monotonicMs() - countedAgoMs))
      .finally(() => this.#refreshing.delete(key))
    this.#refreshing.set(key, refresh)
    return refresh
  }

  /** The same beside the caller's open transaction, which must neither wait for long nor fail because a connection of ours does. */
  async #refreshBeside(types: string[], tx: Queryable): Promise<Snapshot> {
    const free = this.#store.hasFreeConnection
    const refreshed = this.#refresh(types).catch(keepTheOldOne)
    const waited = new AbortController()
    const patience = free ? patienceInTransactionMs : 0
    const fresh = await Promise.race([refreshed, sleep(patience, { signal: waited.signal })])
    waited.abort()
    return fresh ?? this.#read(types, tx)
  }

  async #read(types: string[], tx: Queryable | undefined, countedAt?: number): Promise<Snapshot> {
    const key = types.join('\n')
    const depths = await this.#store.depthsUnderLimit(types, tx)
    const now = monotonicMs()
    const before = this.#snapshots.get(key)
    const added = before?.added ?? { ready: new Added(), scheduled: new Added(), unapproved: new Added() }
    for (const one of classes) added[one].countedAt(countedAt ?? now - countedByOthersMs)
    const adding = before?.adding ?? { ready: 0, scheduled: 0, unapproved: 0 }
    const snapshot = { askedAt: before?.askedAt ?? now, readAt: now, depths, added, adding }
    if (this.#snapshots.size > 1_000) this.#snapshots.clear()
    this.#snapshots.set(key, snapshot)
    return snapshot
  }
}

function isPast(at: number, ms: number): boolean {
  return monotonicMs() - at > ms
}

/** Their types in order, the lowest priority among them, and how many of each class they ask to be. */
function summed(jobs: readonly NewJob[]): { types: string[]; lowest: number; asked: Counts } {
  const types = new Set<string>()
  const asked = { ready: 0, scheduled: 0, unapproved: 0 }
  let lowest = 9
  let last: string | undefined
  for (const job of jobs) {
    if (job.type !== last) types.add(job.type)
    last = job.type
    lowest = Math.min(lowest, job.priority ?? defaultPriority)
    asked[classOf(job)] += 1
  }
  return { types: [...types].sort(), lowest, asked }
}

/** By this machine's clock, roughly: where that is wrong, jobs of the next moments count under the other limit, and no more comes of it. */
function classOf({ approval, delayMs, runAt, unique }: NewJob): Class {
  if (approval !== null) return 'unapproved'
  const later =
    delayMs !== null ? delayMs > 0 : runAt !== null ? Date.parse(runAt) > wallMs() : unique && unique.delay !== undefined
  return later ? 'scheduled' : 'ready'
}

/** A count that failed is tried again by the next enqueue; until then the last count and what was added here are enough. */
function keepTheOldOne(): void {}

function withAdded({ depths, added, adding }: Snapshot): Depth[] {
  const [ready, scheduled, unapproved] = classes.map((one) => added[one].jobs + adding[one]) as [number, number, number]
  return depths.map(({ waiting, counts, ...depth }) => ({
    ...{ ...depth, waiting: waiting + ready },
    counts: { ...counts, scheduled: counts.scheduled + scheduled, unapproved: counts.unapproved + unapproved },
  }))
}
