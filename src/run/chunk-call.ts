import { answersOf, type Chunk, type ChunkContext } from '../job/chunk.js'
import { Secrets } from '../job/secrets.js'
import { type Failable, inNameOf } from './attempt.js'
import type { ChunkMember } from './chunk-member.js'

/** One call of a handler with the jobs of a chunk. Each of them ends by itself: the call only says how. */
export class ChunkCall implements Failable {
  readonly #members: readonly ChunkMember[]
  readonly #free: () => void
  #left = 0
  #over = false
  #controller: AbortController | undefined

  /** `free` is called once, when the handler has returned or none of the jobs is its any more. */
  constructor(members: readonly ChunkMember[], free: () => void) {
    this.#members = members
    this.#free = free
  }

  /** A job of the call has ended. */
  left(): void {
    this.#left += 1
    if (this.#left === this.#members.length) this.#end()
  }

  /** An error escaped the handler: it is the failure of every job that has not ended, or is told once. */
  fail(error: unknown): void {
    const open = this.#members.filter((member) => !member.ended)
    for (const member of open.length > 0 ? open : this.#members.slice(0, 1)) member.fail(error)
  }

  async perform({ run }: Chunk): Promise<void> {
    const members = this.#members
    const secrets = members.flatMap(({ job }) => job.secrets ?? [])
    const together = secrets.length > 0 ? Secrets.together(secrets) : undefined
    for (const member of members) member.begin(together)
    let settle: (member: ChunkMember, at: number) => void
    try {
      const jobs = members.map(({ inHand }) => inHand as never)
      const answer = await inNameOf(this, () => run(jobs, this.#context()))
      const answers = answersOf(answer, members.length, members[0]?.job.type.type as string)
      settle = (member, at) => member.answer(answers[at])
    } catch (error) {
      settle = (member) => member.reject(error)
    }
    this.#end()
    members.forEach(settle)
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    this.#free()
  }

  #context(): ChunkContext {
    const { snooze, stop } = (this.#members[0] as ChunkMember).inHand.ctx
    const signal = () => this.#signal()
    return {
      get signal() {
        return signal()
      },
      snooze,
      stop,
    }
  }

  /** Fires when the last of its jobs was told to stop. */
  #signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    let untold = this.#members.length
    const told = (reason: unknown) => {
      untold -= 1
      if (untold === 0) inNameOf(this, () => controller.abort(reason))
    }
    for (const { signal } of this.#members) {
      if (signal.aborted) told(signal.reason)
      else signal.addEventListener('abort', () => told(signal.reason), { once: true })
    }
    return controller.signal
  }
}
