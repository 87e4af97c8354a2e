import type { Actor } from '../job/actor.js'
import type { Privacy } from '../privacy/privacy.js'
import type { Store } from '../store/store.js'
import { Approvals, type Decided, type VerdictOptions } from './approval.js'
import type { Confirm } from './confirm.js'
import type { JobFilter } from './job-filter.js'
import { type Moved, type MovedMany, Moves, type NewTime } from './moves.js'
import { type SignalOptions, sendSignal } from './signals.js'

/** What a Holdfast does to jobs that are stored: cancel, resume, move, bury, approve, signal, forget. */
export abstract class JobOperations {
  readonly #store: Store
  readonly #privacy: Privacy
  readonly #moves: Moves
  readonly #approvals: Approvals

  /** @internal */
  constructor(store: Store, privacy: Privacy) {
    this.#store = store
    this.#privacy = privacy
    this.#moves = new Moves(store)
    this.#approvals = new Approvals(store.move)
  }

  /**
   * Ends a job that waits or runs. A running one is cancelled at once for everybody to see; its handler's signal fires
   * within a heartbeat, and whatever it returns changes nothing. A job that has ended is never changed.
   * @example
   * const { id } = await holdfast.enqueue(sendEmail, { to: 'ada@example.com' }, { delay: '1d' })
   * const { done, because } = await holdfast.cancel(id, { by: 'grace', why: 'sent by hand' })
   */
  cancel(id: string, who: Actor): Promise<Moved> {
    return this.#moves.cancel(id, who)
  }

  /** Cancels every job that fits, a thousand at a time in a transaction of their own. `dryRun` (false) only counts them. */
  cancelMany(filter: JobFilter, who: Actor, options?: { dryRun?: boolean }): Promise<MovedMany> {
    return this.#moves.cancelMany(filter, who, options)
  }

  /**
   * Takes up a cancelled job from its last checkpoint or step, once its handler has stopped. Approval and unique key are asked for again; one of
   * a sensitive type needs `confirm`, the name of its type.
   */
  resume(id: string, who: Actor, options: { confirm?: Confirm } = {}): Promise<Moved> {
    return this.#moves.resume(id, who, options)
  }

  /** Gives a job that does not run another priority, 0 (low) to 9 (high). */
  setPriority(id: string, priority: number, who: Actor): Promise<Moved> {
    return this.#moves.setPriority(id, priority, who)
  }

  /** Gives every job that fits and does not run another priority. `dryRun` (false) only counts them. */
  setPriorityMany(filter: JobFilter, priority: number, who: Actor, options?: { dryRun?: boolean }): Promise<MovedMany> {
    return this.#moves.setPriorityMany(filter, priority, who, options)
  }

  /** Makes a job that does not run due at another time. */
  reschedule(id: string, time: NewTime, who: Actor): Promise<Moved> {
    return this.#moves.reschedule(id, time, who)
  }

  /** Makes every job that fits and does not run due at another time. `dryRun` (false) only counts them. */
  rescheduleMany(filter: JobFilter, time: NewTime, who: Actor, options?: { dryRun?: boolean }): Promise<MovedMany> {
    return this.#moves.rescheduleMany(filter, time, who, options)
  }

  /** Makes a scheduled job, or one that waits for its next attempt, due at once. Gates and approval still hold. */
  runNow(id: string, who: Actor): Promise<Moved> {
    return this.#moves.runNow(id, who)
  }

  /** Makes every scheduled or failed job that fits due at once. `dryRun` (false) only counts them. */
  runNowMany(filter: JobFilter, who: Actor, options?: { dryRun?: boolean }): Promise<MovedMany> {
    return this.#moves.runNowMany(filter, who, options)
  }

  /**
   * Ends a job that waits, or is to be retried, as a dead letter, to be replayed or discarded later. One that runs is refused.
   * @example
   * const { id } = await holdfast.enqueue(sendEmail, { to: 'ada@example.com' }, { delay: '1d' })
   * const { done, because } = await holdfast.bury(id, { by: 'grace', why: 'the address is wrong' })
   */
  bury(id: string, who: Actor): Promise<Moved> {
    return this.#moves.bury(id, who)
  }

  /** Buries every job that fits and does not run. `dryRun` (false) only counts them. */
  buryMany(filter: JobFilter, who: Actor, options?: { dryRun?: boolean }): Promise<MovedMany> {
    return this.#moves.buryMany(filter, who, options)
  }

  /** Sends a signal to a job, for `ctx.waitFor(name)` of its handler. It is stored, also when it comes first, and delivered once. */
  signal(id: string, name: string, payload?: unknown, options: SignalOptions = {}): Promise<void> {
    return sendSignal(this.#store, this.#privacy, { id, name, payload, options })
  }

  /** One approval of a job that waits for it; it runs once there are as many as its quorum. */
  approve(id: string, who: Actor, options?: VerdictOptions): Promise<Decided> {
    return this.#approvals.approve(id, who, options)
  }

  /** Ends a job that waits for approval as cancelled. The reason is shown to whoever asked for it. */
  reject(id: string, who: Actor & { why: string }, options?: VerdictOptions): Promise<Decided> {
    return this.#approvals.reject(id, who, options)
  }

  /**
   * Removes everything that is kept of a job that has ended, before its time. What stays is a line in the audit log, and its
   * idempotency and unique keys for as long as they live.
   */
  forget(id: string, who: Actor): Promise<Moved> {
    return this.#moves.forget(id, who)
  }
}
