import { HoldfastError } from '../errors.js'
import type { RecordedActor } from '../job/actor.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { checkJobId } from '../job/id.js'
import { option, refused, refuseUnknown, says, trueOrFalse, wholeNumber } from '../job/refused.js'
import { isStatus, type JobStatus } from '../job/state.js'
import type { MovedRow } from '../store/rows.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { type Confirm, readConfirm } from './confirm.js'
import { encodeFilter, type JobFilter } from './job-filter.js'

/** What became of a job. `done` is false where nothing was changed; `because` says why. */
export interface Moved {
  id: string
  done: boolean
  was: JobStatus
  status: JobStatus
  because?: string
  /** Of a replayed job: why it does not run yet, where the breaker of its type is open. */
  waits?: string
}

/** What a change by filter did. */
export interface MovedMany {
  /** How many jobs the filter found. */
  matched: number
  /** How many were changed. */
  done: number
  /** How many were not, by the reason. */
  refused: Record<string, number>
}

/** The new time of a job: at that moment, or that much later than now by the database's clock. */
export type NewTime = { runAt: Date; delay?: never } | { delay: Duration; runAt?: never }

/** One transaction, whatever it moves. */
export type Move = (ids: readonly string[]) => Promise<MovedRow[]>

/** How many jobs one transaction moves at most. */
export const movedAtOnce = 1_000
const lowestId = '00000000-0000-0000-0000-000000000000'

/**
 * What operators do to jobs, one by one or by filter. A single move waits for whoever works on the job and always has an
 * answer. By filter, jobs are taken a thousand at a time, each thousand in a transaction of its own: when it fails half
 * way, what is done is done, and the same call goes on from there.
 */
export class Moves {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  async cancel(id: string, who: Actor): Promise<Moved> {
    return this.#one(id, this.#cancelling(checkedActor(who)))
  }

  async cancelMany(filter: JobFilter, who: Actor, options: { dryRun?: boolean } = {}): Promise<MovedMany> {
    return this.#many(filter, options, this.#cancelling(checkedActor(who)))
  }

  async setPriority(id: string, priority: number, who: Actor): Promise<Moved> {
    return this.#one(id, this.#prioritising(priority, checkedActor(who)))
  }

  async setPriorityMany(filter: JobFilter, priority: number, who: Actor, options: { dryRun?: boolean } = {}): Promise<MovedMany> {
    return this.#many(filter, options, this.#prioritising(priority, checkedActor(who)))
  }

  async reschedule(id: string, time: NewTime, who: Actor): Promise<Moved> {
    return this.#one(id, this.#rescheduling(time, checkedActor(who)))
  }

  async rescheduleMany(filter: JobFilter, time: NewTime, who: Actor, options: { dryRun?: boolean } = {}): Promise<MovedMany> {
    return this.#many(filter, options, this.#rescheduling(time, checkedActor(who)))
  }

  async runNow(id: string, who: Actor): Promise<Moved> {
    return this.#one(id, this.#hurrying(checkedActor(who)))
  }

  async runNowMany(filter: JobFilter, who: Actor, options: { dryRun?: boolean } = {}): Promise<MovedMany> {
    return this.#many(filter, options, this.#hurrying(checkedActor(who)))
  }

  async bury(id: string, who: Actor): Promise<Moved> {
    return this.#one(id, this.#burying(checkedActor(who)))
  }

  async buryMany(filter: JobFilter, who: Actor, options: { dryRun?: boolean } = {}): Promise<MovedMany> {
    return this.#many(filter, options, this.#burying(checkedActor(who)))
  }

  async resume(id: string, who: Actor, options: { confirm?: Confirm } = {}): Promise<Moved> {
    refuseUnknown(options, ['confirm'])
    const by = checkedActor(who)
    const confirmed = readConfirm(options.confirm)
    return this.#one(id, () => this.#store.move.resumeJob(id, by, confirmed))
  }

  async forget(id: string, who: Actor): Promise<Moved> {
    const by = checkedActor(who)
    return this.#one(id, () => this.#store.move.forgetJob(id, by))
  }

  #cancelling(who: RecordedActor): Move {
    return (ids) => this.#store.move.cancelJobs(ids, who)
  }

  #prioritising(priority: number, who: RecordedActor): Move {
    wholeNumber(priority, 'priority', 0, 9)
    return (ids) => this.#store.move.setPriority(ids, priority, who)
  }

  #rescheduling(time: NewTime, who: RecordedActor): Move {
    const { runAt, delayMs } = readTime(time)
    return (ids) => this.#store.move.rescheduleJobs(ids, runAt, delayMs, who)
  }

  #hurrying(who: RecordedActor): Move {
    return (ids) => this.#store.move.runNow(ids, who)
  }

  #burying(who: RecordedActor): Move {
    return (ids) => this.#store.move.buryJobs(ids, who)
  }

  async #one(id: string, move: Move): Promise<Moved> {
    return moveOne(id, move)
  }

  async #many(filter: JobFilter, options: { dryRun?: boolean }, move: Move): Promise<MovedMany> {
    refuseUnknown(options, ['dryRun'])
    if (options.dryRun !== undefined) trueOrFalse(options.dryRun, 'dryRun')
    const encoded = encodeFilter(filter)
    const answer: MovedMany = { matched: 0, done: 0, refused: {} }
    try {
      // Without an end a producer could add jobs as fast as they are taken.
      const before = encoded.createdBefore ?? (await this.#store.inspect.endOfNow()).toISOString()
      for (let after = lowestId; ; ) {
        const ids = await this.#store.move.matchingJobs({ ...encoded, createdBefore: before }, after, movedAtOnce)
        answer.matched += ids.length
        if (options.dryRun !== true) for (const row of await moveAll(ids, move)) count(answer, row)
        if (ids.length < movedAtOnce) return answer
        after = ids.at(-1) as string
      }
    } catch (error) {
      throw explained(error)
    }
  }
}

export async function moveOne(id: string, move: Move): Promise<Moved> {
  checkJobId(id)
  try {
    return movedOrUnknown((await move([id]))[0], id)
  } catch (error) {
    throw explained(error)
  }
}

/** What a whole transaction passed over, because somebody worked on it or it has ended, is asked for one by one. */
export async function moveAll(ids: readonly string[], move: Move): Promise<MovedRow[]> {
  if (ids.length === 0) return []
  const rows = await move(ids)
  const answered = new Set(rows.map((row) => row.id))
  for (const id of ids) if (!answered.has(id)) rows.push(...(await move([id])))
  return rows
}

export function movedOrUnknown(row: MovedRow | undefined, id: string): Moved {
  const { was, status } = row ?? {}
  if (!row || !was || !status || !isStatus(was) || !isStatus(status)) {
    throw new HoldfastError('not_found', `there is no job ${id}; it never existed, or is no longer kept`)
  }
  return { id: row.id, done: row.done, was, status, ...(row.because === null ? {} : { because: row.because }) }
}

export function count(answer: MovedMany, row: MovedRow): void {
  if (row.done) answer.done += 1
  else {
    const because = row.because ?? 'it is gone'
    answer.refused[because] = (answer.refused[because] ?? 0) + 1
  }
}

export function readTime(time: NewTime): { runAt: string | null; delayMs: number | null } {
  refuseUnknown(time, ['runAt', 'delay'])
  const { runAt, delay } = time
  if ((runAt === undefined) === (delay === undefined)) {
    throw refused('runAt', says`or ${option('delay')} must be given, and not both`)
  }
  if (delay !== undefined) return { runAt: null, delayMs: toMilliseconds(delay, 'delay') }
  if (!(runAt instanceof Date) || !(runAt.getUTCFullYear() >= 2000 && runAt.getUTCFullYear() <= 2199)) {
    throw refused('runAt', 'must be a valid Date from the year 2000 to 2199')
  }
  return { runAt: runAt.toISOString(), delayMs: null }
}
