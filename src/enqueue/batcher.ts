import { isWorthAnotherTry } from '../store/sqlstate.js'
import type { NewJob, Stands, Store } from '../store/store.js'

interface Waiting {
  job: NewJob
  owner: string | undefined
  stored(standing: Map<number, Stands>): void
  failed(error: unknown): void
}

/** Two, so that one can be built and sent while the other is being committed. */
const mostUnderWay = 2
const mostAtOnce = { jobs: 500, characters: 2_000_000 }

/**
 * Stores single new jobs. While a statement is under way the next jobs go together: a job alone is sent at once, and many
 * concurrent callers share few commits. Only jobs without keys and ids of the caller's come here, so that none waits for another's key;
 * the exception is a unique type that was enqueued by its name, whose second job may wait for the first. If a statement is refused,
 * each of its jobs is stored alone, so that only the caller of the wrong job gets the error.
 */
export class Batcher {
  readonly #store: Store
  #waiting: Waiting[] = []
  #underWay = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Resolves when the job is durable; with another job, if that has its key. */
  add(job: NewJob, owner: string | undefined): Promise<Map<number, Stands>> {
    return new Promise((stored, failed) => {
      this.#waiting.push({ job, owner, stored, failed })
      void this.#send()
    })
  }

  async #send(): Promise<void> {
    if (this.#underWay >= mostUnderWay || this.#waiting.length === 0) return
    const together = this.#next()
    this.#underWay += 1
    try {
      const standing = await this.#storeAll(together)
      together.forEach(({ stored }, index) => {
        const stands = standing.get(index)
        stored(stands ? new Map([[0, stands]]) : new Map())
      })
    } catch (error) {
      // After a broken connection the commit may have happened or not: each caller tries again with its own id.
      if (together.length === 1 || isWorthAnotherTry(error)) for (const { failed } of together) failed(error)
      else await Promise.all(together.map((one) => this.#storeAll([one]).then(one.stored, one.failed)))
    } finally {
      this.#underWay -= 1
      void this.#send()
    }
  }

  /** As many jobs as one statement takes, all of the first one's owner, because a statement has one owner; the others keep their order. */
  #next(): Waiting[] {
    const owner = this.#waiting[0]?.owner
    const together: Waiting[] = []
    const left: Waiting[] = []
    let characters = 0
    for (const one of this.#waiting) {
      const fits = together.length < mostAtOnce.jobs && (together.length === 0 || characters < mostAtOnce.characters)
      if (one.owner === owner && fits) {
        together.push(one)
        characters += one.job.payload.length
      } else left.push(one)
    }
    this.#waiting = left
    return together
  }

  #storeAll(together: readonly Waiting[]): Promise<Map<number, Stands>> {
    const jobs = together.map(({ job }) => job)
    return this.#store.enqueue(jobs, { fresh: true, keysTaken: false, wakeAlways: false, owner: together[0]?.owner })
  }
}

/** Whether a job can be stored beside any other without waiting for somebody else's transaction. */
export function waitsForNobody(job: NewJob): boolean {
  return !job.brought && job.idempotencyKey === null && (job.unique === null || job.unique === false)
}
