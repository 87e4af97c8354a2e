import { monotonicMs } from '../clock.js'
import type { ChunkJob } from '../job/chunk.js'
import { isError } from '../job/chunk.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { Secrets } from '../job/secrets.js'
import { Attempt, type AttemptEvents } from './attempt.js'
import { AttemptContext } from './context.js'
import type { AttemptServices } from './services.js'

/** Where members wait for a call and leave again. */
export interface Gathering {
  join(member: ChunkMember): void
  /** The attempt ended, or lost its lease. */
  left(member: ChunkMember): void
}

/**
 * One try at one job of a chunk. Its payload is read and checked alone, so that one that does not fit fails by itself. From then on it
 * waits for its call, and has begun, with its timeout, when the call begins.
 */
export class ChunkMember extends Attempt {
  readonly #gathering: Gathering
  #inHand: ChunkJob | undefined
  #joinedAtMs = 0
  #resolve: (answer: unknown) => void = () => {}
  #reject: (error: unknown) => void = () => {}

  constructor(job: ClaimedJob, services: AttemptServices, events: AttemptEvents, gathering: Gathering) {
    super(job, services, {
      ...events,
      ended: (attempt, outcome) => {
        // Before the slots are told: whether they claim more depends on how many calls go on.
        gathering.left(this)
        events.ended(attempt, outcome)
      },
    })
    this.#gathering = gathering
  }

  get joinedAtMs(): number {
    return this.#joinedAtMs
  }

  /** What the handler gets of it. */
  get inHand(): ChunkJob {
    return this.#inHand as ChunkJob
  }

  /** Its call begins. What any job of the call keeps secret may stand in an error or log line of each of them. */
  begin(secrets: Secrets | undefined): void {
    if (secrets) this.job = { ...this.job, secrets }
    this.startedAtMs = monotonicMs()
    this.deadlineMs = this.startedAtMs + this.job.type.timeoutMs
  }

  answer(answer: unknown): void {
    if (isError(answer)) this.#reject(answer)
    else this.#resolve(answer)
  }

  reject(error: unknown): void {
    this.#reject(error)
  }

  override cancel(): void {
    if (this.startedAtMs === null) this.handBack()
    else super.cancel()
  }

  override loseLease(): void {
    super.loseLease()
    this.#gathering.left(this)
  }

  protected override call(payload: unknown): unknown {
    if (this.ended) return undefined
    this.#inHand = { payload, ctx: new AttemptContext(this) }
    this.#joinedAtMs = monotonicMs()
    this.startedAtMs = null
    this.deadlineMs = Number.POSITIVE_INFINITY
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#gathering.join(this)
    })
  }
}
