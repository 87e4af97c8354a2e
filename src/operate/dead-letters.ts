import { reserved } from '../enqueue/encrypt.js'
import type { TypeRegistry } from '../enqueue/registry.js'
import { type JobStory, readStory } from '../history/story.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { checkAgainstSchema } from '../job/check-payload.js'
import { checkJobId } from '../job/id.js'
import { encodePayload } from '../job/payload.js'
import { refuseUnknown, trueOrFalse, wholeNumber } from '../job/refused.js'
import { isEncrypted } from '../privacy/keyring.js'
import type { Privacy } from '../privacy/privacy.js'
import type { DeadPosition, EncodedDeadFilter } from '../store/dead-letter-store.js'
import type { DeadLetterRow } from '../store/rows.js'
import { explained, notConfirmed } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { type Confirm, readConfirm } from './confirm.js'
import { type DeadLetterFilter, type DeathReason, decodeCursor, encodeCursor, encodeDeadFilter } from './dead-letter-filter.js'
import { count, type Move, type Moved, type MovedMany, moveAll, movedAtOnce, moveOne } from './moves.js'

/** A dead letter as a list shows it. */
export interface DeadLetter {
  id: string
  type: string
  priority: number
  reason: DeathReason
  diedAt: Date
  /** The attempt it died in, of how many. */
  attempt: number
  maxAttempts: number
  createdAt: Date
  /** The error of its last attempt, without the stack. */
  error: Record<string, unknown> | null
}

/** One page of a list of dead letters. */
export interface DeadLetterPage {
  /** Newest first. May be fewer than asked for, or none, although there are more: `next` alone says that it is the end. */
  letters: DeadLetter[]
  /** To be given as `after`; undefined at the end. */
  next: string | undefined
}

/** A dead letter with everything that happened to the job. */
export interface DeadLetterStory extends JobStory {
  reason: DeathReason
  diedAt: Date
  error: Record<string, unknown> | null
}

/** How many of the dead letters that fit are moved. */
export interface ManyOptions {
  /**
   * Only says how many there are.
   * @default false
   */
  dryRun?: boolean
  /**
   * No more than this many, the newest first: a few to see whether they pass, before all the others.
   * @range 1 to 1,000,000,000
   * @default all
   */
  atMost?: number
}

/** What a replay or a discard by filter did. */
export interface MovedDeadLetters extends MovedMany {
  /**
   * Only what died before this moment was looked at. Given as the filter's `diedBefore`, it makes a second call go on where
   * one that failed stopped, without replaying again what was replayed and died once more.
   */
  diedBefore: Date
  /** Why replayed jobs do not run yet, where the breaker of their type is open; without a type in the filter, that of any. */
  waits?: string
}

/**
 * What people do about jobs that ended dead.
 *
 * A replayed job is the same job with the same id, and not a new one that names its origin. So whoever kept the id, or
 * enqueues again with the same idempotency key, sees what became of it, and there is never a dead job beside its living
 * copy of which somebody has to know that they are one. The move is one transaction that deletes the dead letter and puts
 * the job back in line: of two replays, or a replay and a discard, one finds the row and the other finds nothing and says
 * so. Fencing stays as it is, because a lease id is never given out twice: a worker from the job's former life holds an
 * older one. The price: attempts are counted from one again, so a number can stand in the history more than once, in the
 * order of time, with the replay between them among the story's changes.
 */
export class DeadLetters {
  readonly #store: Store
  readonly #types: TypeRegistry
  readonly #privacy: Privacy

  /** @internal */
  constructor(store: Store, types: TypeRegistry, privacy: Privacy) {
    this.#store = store
    this.#types = types
    this.#privacy = privacy
  }

  /**
   * One page of `limit` letters (100), newest first. A page is what `after` its predecessor's `next` comes, however many die meanwhile.
   */
  async list(filter: DeadLetterFilter = {}, options: { after?: string; limit?: number } = {}): Promise<DeadLetterPage> {
    refuseUnknown(options, ['after', 'limit'])
    const encoded = encodeDeadFilter(filter, { mayBeEmpty: true })
    const limit = wholeNumber(options.limit ?? 100, 'limit', 1, 1_000)
    const after = options.after === undefined ? null : decodeCursor(options.after)
    try {
      const rows = await this.#store.deadLetters.page(encoded, after, limit)
      const next = behind(rows, limit)
      return { letters: rows.filter((row) => row.fits).map(letter), next: next && encodeCursor(next) }
    } catch (error) {
      throw explained(error)
    }
  }

  /** One dead letter with its payload, every attempt and every error; undefined where the job is not dead. */
  async get(id: string): Promise<DeadLetterStory | undefined> {
    checkJobId(id)
    try {
      const [found, story] = await Promise.all([
        this.#store.deadLetters.one(id),
        readStory(this.#store.inspect, id, this.#privacy),
      ])
      if (!found || story?.status !== 'dead') return undefined
      return { ...story, reason: found.reason, diedAt: new Date(found.died_at), error: found.error }
    } catch (error) {
      throw explained(error)
    }
  }

  /**
   * Makes a dead job due again, with all its attempts before it. A new payload is checked as in an enqueue, also against
   * the schema where this process has the type's definition; the old one stays in the story. A job of a sensitive type is
   * only replayed with `confirm`, the name of its type.
   */
  async replay(id: string, who: Actor, options: { payload?: unknown; confirm?: Confirm } = {}): Promise<Moved> {
    checkJobId(id)
    refuseUnknown(options, ['payload', 'confirm'])
    const by = checkedActor(who)
    const confirmed = readConfirm(options.confirm)
    const payload = Object.hasOwn(options, 'payload') ? await this.#checked(id, options.payload) : null
    const moved = await moveOne(id, (ids) => this.#store.deadLetters.replay(ids, payload, confirmed, by))
    if (!moved.done) return moved
    const job = await this.#store.inspect.job(id).catch((error) => Promise.reject(explained(error)))
    return { ...moved, ...(await this.#waits(job?.type)) }
  }

  /**
   * Replays what fits, a thousand at a time, each thousand in a transaction of its own. Where some are of sensitive types, all of
   * these have to be in `confirm` before the first is moved; a dry run needs none.
   * @example
   * const who = { by: 'ada', why: 'the mail server is back' }
   * const few = await holdfast.deadLetters.replayMany({ type: 'send_email', reason: 'exhausted' }, who, { atMost: 10 })
   */
  async replayMany(
    filter: DeadLetterFilter,
    who: Actor,
    options: ManyOptions & { confirm?: Confirm } = {},
  ): Promise<MovedDeadLetters> {
    refuseUnknown(options, ['dryRun', 'atMost', 'confirm'])
    const by = checkedActor(who)
    const confirmed = readConfirm(options.confirm)
    const encoded = encodeDeadFilter(filter, { mayBeEmpty: false })
    if (options.dryRun !== true) await this.#refuseUnconfirmed(encoded, confirmed)
    const moved = await this.#many(filter, options, (ids) => this.#store.deadLetters.replay(ids, null, confirmed, by))
    return { ...moved, ...(await this.#waits(filter.type)) }
  }

  /** Ends a dead job for good as discarded. It stays in history with who decided it, as long as a completed job does. */
  async discard(id: string, who: Actor): Promise<Moved> {
    const by = checkedActor(who)
    return moveOne(id, (ids) => this.#store.deadLetters.discard(ids, by))
  }

  /** Discards what fits, a thousand at a time, each thousand in a transaction of its own. */
  async discardMany(filter: DeadLetterFilter, who: Actor, options: ManyOptions = {}): Promise<MovedDeadLetters> {
    refuseUnknown(options, ['dryRun', 'atMost'])
    const by = checkedActor(who)
    return this.#many(filter, options, (ids) => this.#store.deadLetters.discard(ids, by))
  }

  async #refuseUnconfirmed(filter: EncodedDeadFilter, confirmed: readonly string[]): Promise<void> {
    try {
      const sensitive = await this.#store.deadLetters.sensitive(filter)
      if (!sensitive.every((type) => confirmed.includes(type))) throw notConfirmed(sensitive)
    } catch (error) {
      throw explained(error)
    }
  }

  /**
   * Jobs that died have often opened the breaker of their type, and whoever replays them then sees nothing happen. Asked after the replay, so
   * that a breaker that opens meanwhile is seen.
   */
  async #waits(type: string | undefined): Promise<{ waits?: string }> {
    const gates = await this.#store.operate.gateStates<{ type: string; breaker: { open: boolean } }>(type ?? null)
    const open = gates.filter(({ breaker }) => breaker.open).map((gate) => gate.type)
    if (open.length === 0) return {}
    const one = open.length === 1 ? `the breaker of ${open[0]} is open` : `the breakers of ${open.join(', ')} are open`
    return { waits: `${one}: these jobs wait until a probe succeeds, or until somebody closes it` }
  }

  async #checked(id: string, payload: unknown): Promise<string> {
    const text = encodePayload(payload)
    if (isEncrypted(text)) throw reserved()
    try {
      const job = await this.#store.inspect.job(id)
      const definition = job && this.#types.definitionOf(job.type)
      if (definition?.schema) await checkAgainstSchema(definition, payload)
      if (!job) return text
      if (!definition) await this.#store.operate.refuseUnfit(id, job.type, text)
      this.#privacy.refuseMarks(payload, job.redact)
      const [type] = await this.#store.types([job.type])
      return this.#privacy.encrypts(type?.encrypted) ? this.#privacy.encrypt(job.type, id, text) : text
    } catch (error) {
      throw explained(error)
    }
  }

  async #many(filter: DeadLetterFilter, options: ManyOptions, move: Move): Promise<MovedDeadLetters> {
    const encoded = encodeDeadFilter(filter, { mayBeEmpty: false })
    if (options.dryRun !== undefined) trueOrFalse(options.dryRun, 'dryRun')
    let left = options.atMost === undefined ? Number.POSITIVE_INFINITY : wholeNumber(options.atMost, 'atMost', 1, 1e9)
    try {
      // Without an end, jobs that die again at once would be replayed without end.
      const diedBefore = filter.diedBefore ?? (await this.#store.inspect.endOfNow())
      const bounded = { ...encoded, diedBefore: diedBefore.toISOString() }
      const answer: MovedDeadLetters = { matched: 0, done: 0, refused: {}, diedBefore }
      for (let after: DeadPosition | null = null; left > 0; ) {
        const limit = Math.min(movedAtOnce, left)
        const rows = await this.#store.deadLetters.matching(bounded, after, limit)
        const ids = rows.filter((row) => row.fits).map((row) => row.id)
        answer.matched += ids.length
        left -= ids.length
        if (options.dryRun !== true) for (const row of await moveAll(ids, move)) count(answer, row)
        const next = behind(rows, limit)
        if (!next) break
        after = next
      }
      return answer
    } catch (error) {
      throw explained(error)
    }
  }
}

/** Where to go on: behind the last row of a full page, or where reading stopped before the page was full. */
function behind(rows: readonly (DeadPosition & { fits: boolean })[], limit: number): DeadPosition | undefined {
  const last = rows.at(-1)
  return last && (!last.fits || rows.length === limit) ? last : undefined
}

function letter(row: DeadLetterRow): DeadLetter {
  const { id, type, priority, reason, attempt, error } = row
  const maxAttempts = row.max_attempts ?? attempt
  return {
    id,
    type,
    priority,
    reason,
    diedAt: new Date(row.died_at),
    attempt,
    maxAttempts,
    createdAt: new Date(row.created_at ?? 0),
    error,
  }
}
