import type { Background, Monitor } from '../background/background.js'
import { monotonicMs, sleep } from '../clock.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { LostRow } from '../store/rows.js'
import type { EndedAttempt } from '../store/settle-values.js'
import { isLimit, isRefusal } from '../store/sqlstate.js'

/** A decided attempt on its way to the database. */
export interface Settling extends EndedAttempt {
  job: ClaimedJob
  /** Whether it is the last open attempt of its lease, so that writing it closes the lease. Undefined until it is first written. */
  closesLease: boolean | undefined
  /** Whether it was sent to the database before, whatever came of it. */
  tried: boolean
}

/** Where results are written: the store, or a server over HTTP. */
export interface ResultStore {
  /** Answers with the attempts for which nothing was changed. `nowMs`: the clock of their times; `closed`: the leases that end with them. */
  settle(
    worker: number,
    ended: readonly EndedAttempt[],
    nowMs: number,
    closed: readonly string[],
  ): Promise<Pick<LostRow, 'id' | 'why'>[]>
}

/** Nothing was changed for a job, because it was cancelled or its lease was lost; or it went round once too often, and was ended instead. */
export type Otherwise = 'cancelled' | 'lost' | 'ended'

export interface SettlerEvents {
  /** These are about to be written. The settler waits for the promise, if there is one. */
  settling(results: readonly Settling[]): Promise<void> | undefined
  /** They are written, but for the jobs in `lost`. */
  settled(results: readonly Settling[], lost: ReadonlyMap<string, Otherwise>): void
  /** These leases have no open attempt left and need not be renewed any more. */
  finished(leases: readonly string[]): void
  /** Whether the worker has jobs in line, so that more results will come soon. */
  moreToCome(): boolean
  /** The database will never take this one. Its lease runs out, and the rescue writes into history that it did. */
  refused(settling: Settling, error: unknown): void
}

const mostAtOnce = 1_000
/** Results that are worth a statement. Fewer wait for others while jobs are in line, as long as the last statement took, but not longer than that. */
const gather = { enough: 100, mostMs: 100 }
const pauseMs = { first: 50, most: 2_000 }

/**
 * Writes how attempts ended. While some are being written, results that come in wait for the next statement: under load many share a
 * statement, and a single one is written at once. A worker that has jobs in line also waits between two small statements for as long as the first
 * took: on a full machine each of a hundred workers would otherwise write its results one by one, and make it fuller. Results of jobs behind a
 * gate wait for none, because another job may be waiting for their end. Through an outage the settler keeps everything and tries again, with half as
 * many in a statement after each failure.
 */
export class Settler implements Background {
  readonly name = 'settler'
  readonly #store: ResultStore
  readonly #worker: number
  readonly #monitor: Monitor
  readonly #events: SettlerEvents
  /** Whether an error says that a result will never be taken. */
  readonly #isRefusal: (error: unknown) => boolean
  /** Counts an ended attempt; true when it was the last open one of its lease. */
  readonly #lastOfLease: (lease: string) => boolean
  /** Leases with a result that can never be written. They stay open until they run out, so that the rescue finds the job. */
  readonly #unclosable = new Set<string>()
  #waiting: Settling[] = []
  /** Results that hit a limit of the server. They are tried again after all others. */
  readonly #putOffs = new Set<Settling>()
  #writing: Promise<void> | undefined
  #atOnce = mostAtOnce
  #stopping = false
  #abandoned = false
  /** Ends the wait for more results. */
  #goOn: (() => void) | undefined

  constructor(
    store: ResultStore,
    worker: number,
    lastOfLease: (lease: string) => boolean,
    monitor: Monitor,
    events: SettlerEvents,
    refusal: (error: unknown) => boolean = isRefusal,
  ) {
    this.#store = store
    this.#worker = worker
    this.#monitor = monitor
    this.#lastOfLease = lastOfLease
    this.#events = events
    this.#isRefusal = refusal
  }

  /** How many results are kept here and not yet in the database. */
  get unwritten(): number {
    return this.#waiting.length
  }

  /** The first result that is added starts the writing. */
  start(): void {}

  add(settling: Settling): void {
    this.#waiting.push(settling)
    this.#writing ??= this.#write()
    if (this.#goOn && this.#isWorthAStatement(this.#waiting)) this.#goOn()
    this.#monitor.asking('results')
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopping = true
    this.#goOn?.()
    if (this.#writing) await Promise.race([this.#writing, sleep(withinMs, { unref: true })])
    this.#abandoned = true
    const left = this.#waiting.length
    if (left > 0) throw new Error(`the database is away; the leases of the unwritten results will run out (${left})`)
  }

  async #write(): Promise<void> {
    // Handlers that end in the same turn of the event loop join the first.
    await new Promise<void>((resolve) => setImmediate(resolve))
    let pause = pauseMs.first
    while (this.#waiting.length > 0 && !this.#abandoned) {
      const results = this.#waiting.slice(0, this.#atOnce)
      const begun = monotonicMs()
      try {
        await this.#writeOrHalve(results)
        this.#waiting.splice(0, results.length)
        const again = this.#putOffs.size === 0 ? [] : results.filter((settling) => this.#putOffs.has(settling))
        this.#waiting.push(...again)
        this.#atOnce = Math.min(mostAtOnce, this.#atOnce * 2)
        if (again.length > 0) await sleep(pause * (0.5 + Math.random()))
        pause = again.length > 0 ? Math.min(pause * 2, pauseMs.most) : pauseMs.first
        if (!this.#isWorthAStatement(results)) await this.#gather(monotonicMs() - begun)
      } catch (error) {
        this.#monitor.failed('results', error)
        this.#atOnce = Math.max(1, Math.ceil(results.length / 2))
        await sleep(pause * (0.5 + Math.random()))
        pause = Math.min(pause * 2, pauseMs.most)
      }
    }
    this.#writing = undefined
  }

  #isWorthAStatement(results: readonly Settling[]): boolean {
    if (this.#stopping || results.length >= gather.enough) return true
    return results.some(({ job }) => job.gated) || !this.#events.moreToCome()
  }

  async #gather(ms: number): Promise<void> {
    if (this.#isWorthAStatement(this.#waiting)) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, gather.mostMs))
      this.#goOn = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#goOn = undefined
  }

  /** Resolves when each is written or refused for good; rejects when all may pass later. */
  async #writeOrHalve(results: readonly Settling[]): Promise<void> {
    try {
      await this.#settle(results)
    } catch (error) {
      if (isLimit(error) && results.length === 1) return this.#putOff(results[0] as Settling, error)
      if (!this.#isRefusal(error)) throw error
      // The database refuses one of them. Halving them finds it, and the others are written.
      if (results.length === 1) return this.#refuse(results[0] as Settling, error)
      const half = Math.ceil(results.length / 2)
      await this.#writeOrHalve(results.slice(0, half))
      await this.#writeOrHalve(results.slice(half))
    }
  }

  async #settle(results: readonly Settling[]): Promise<void> {
    const first = this.#events.settling(results)
    if (first) await first
    const now = monotonicMs()
    const finished = this.#finishedBy(results)
    const again = new Set(results.filter(({ tried }) => tried).map(({ job }) => job.id))
    for (const settling of results) settling.tried = true
    const closed = finished.filter((lease) => !this.#unclosable.has(lease))
    const rows = await this.#store.settle(this.#worker, results, now, closed)
    // A statement whose connection broke may have been committed; then the next try finds its own result written, which is no loss.
    const lost = new Map<string, Otherwise>()
    for (const { id, why } of rows) if (why !== 'written' || !again.has(id)) lost.set(id, why === 'written' ? 'lost' : why)
    if (this.#putOffs.size > 0) for (const settling of results) this.#putOffs.delete(settling)
    this.#finish(finished)
    this.#monitor.answered('results')
    this.#events.settled(results, lost)
  }

  /** A limit of the server was reached, by this result or by the server's load: it is tried again after all others. */
  #putOff(settling: Settling, error: unknown): void {
    this.#monitor.failed('results', error)
    this.#putOffs.add(settling)
  }

  /** Gives up a result. The lease still holds its job and must stay open: once it is closed, no rescue would find the job. */
  #refuse(settling: Settling, error: unknown): void {
    this.#unclosable.add(settling.job.lease)
    this.#finish(this.#finishedBy([settling]))
    this.#monitor.answered('results')
    this.#events.refused(settling, error)
  }

  #finish(leases: readonly string[]): void {
    for (const lease of leases) this.#unclosable.delete(lease)
    if (leases.length > 0) this.#events.finished(leases)
  }

  /** The leases with no open attempt left after these. Each attempt is counted once, also when it is written again. */
  #finishedBy(results: readonly Settling[]): string[] {
    const finished: string[] = []
    for (const settling of results) {
      settling.closesLease ??= this.#lastOfLease(settling.job.lease)
      const { closesLease, job } = settling
      const left = closesLease && [...this.#putOffs].find((other) => other.job.lease === job.lease && !results.includes(other))
      if (left) {
        // Another result of this lease is still to be written; that one closes the lease.
        settling.closesLease = false
        left.closesLease = true
      } else if (closesLease) finished.push(job.lease)
    }
    return finished
  }
}
