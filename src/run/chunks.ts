import { AsyncLocalStorage } from 'node:async_hooks'
import { monotonicMs } from '../clock.js'
import type { Chunk } from '../job/chunk.js'
import { ChunkCall } from './chunk-call.js'
import { ChunkMember, type Gathering } from './chunk-member.js'
import type { BeginAttempt } from './slots.js'

interface Waiting {
  readonly member: ChunkMember
  /** The async context of its attempt, where spans of the call belong if it is the first of it. */
  readonly within: (call: () => void) => void
}

/** A job that waits this long for a call to end is handed back, because another worker may have none. */
const longestWaitMs = 1_000

/**
 * Gathers the claimed jobs of a type with `chunk` and calls its handler with up to `size` of them: as soon as they are that many, or when the
 * first has waited for `wait`. The slots above hold the jobs one by one; here is decided which of them go together.
 */
export class Chunks implements Gathering {
  readonly #chunk: Chunk
  readonly #atOnce: number
  readonly #calls = new Map<ChunkMember, ChunkCall>()
  #waiting: Waiting[] = []
  #underWay = 0
  #closed = false
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY

  constructor(chunk: Chunk, atOnce: number) {
    this.#chunk = chunk
    this.#atOnce = atOnce
  }

  /** How many jobs all calls together take. */
  get jobsAtOnce(): number {
    return this.#chunk.size * this.#atOnce
  }

  /** Whether a call may begin. Jobs that are claimed while none may would wait here, and other workers could not run them. */
  get open(): boolean {
    return this.#underWay < this.#atOnce
  }

  readonly begin: BeginAttempt = (job, services, events) => new ChunkMember(job, services, events, this)

  join(member: ChunkMember): void {
    if (this.#closed) return member.handBack()
    this.#waiting.push({ member, within: AsyncLocalStorage.snapshot() })
    if (this.#waiting.length >= this.#chunk.size) this.#look()
    else this.#lookLater()
  }

  left(member: ChunkMember): void {
    const call = this.#calls.get(member)
    this.#calls.delete(member)
    if (call) call.left()
    else this.#waiting = this.#waiting.filter((waiting) => waiting.member !== member)
  }

  /** The worker stops: jobs whose call has not begun are handed back. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    for (const { member } of [...this.#waiting]) member.handBack()
  }

  #look(): void {
    const now = monotonicMs()
    const waited = () => now - (this.#waiting[0]?.member.joinedAtMs ?? now)
    const { size, waitMs } = this.#chunk
    while (this.open && (this.#waiting.length >= size || (this.#waiting.length > 0 && waited() >= waitMs))) this.#call()
    if (!this.open && waited() >= waitMs + longestWaitMs) {
      const late = this.#waiting.filter(({ member }) => now - member.joinedAtMs >= waitMs + longestWaitMs)
      for (const { member } of late) member.handBack()
    }
    this.#lookLater()
  }

  #call(): void {
    const [first, ...others] = this.#waiting.splice(0, this.#chunk.size) as [Waiting, ...Waiting[]]
    const members = [first, ...others].map(({ member }) => member)
    const call = new ChunkCall(members, () => {
      this.#underWay -= 1
      this.#look()
    })
    this.#underWay += 1
    for (const member of members) this.#calls.set(member, call)
    first.within(() => void call.perform(this.#chunk))
  }

  /** One timer, for the job that has waited longest. */
  #lookLater(): void {
    const [first] = this.#waiting
    if (!first || this.#closed) return
    const until = first.member.joinedAtMs + this.#chunk.waitMs + (this.open ? 0 : longestWaitMs)
    if (this.#timerAt <= until) return
    clearTimeout(this.#timer)
    this.#timerAt = until
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Number.POSITIVE_INFINITY
        this.#look()
      },
      Math.max(0, until - monotonicMs()),
    )
  }
}
