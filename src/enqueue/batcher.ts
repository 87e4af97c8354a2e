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
 * Stores single new jobs. While a statement is under way the next ones form a batch: a job alone goes at once,
 * and many callers at once pay for few commits. Only jobs that wait for nobody come here, so that none is held up by another's
 * key; the exception is a type that is unique and was enqueued by its name alone, whose second job may wait for the first.
 * Where a statement is refused each of its jobs is stored alone, so that what is wrong with one is told to its caller only.
 */
export class Batcher {
  readonly #store: Store
  #waiting: Waiting[] = []
  #underWay = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Resolves when the job is durable, with the job that stands for it where it is another one. */
  add(job: NewJob, owner: string | undefined): Promise<Map<number, Stands>> {
    return new Promise((stored, failed) => {
      this.#waiting.push({ job, owner, stored, failed })
      void this.#send()
    })
  }

  async #send(): Promise<void> {
    if (this.#underWay >= mostUnderWay || this.#waiting.length === 0) return
    const batch = this.#next()
    this.#underWay += 1
    try {
      const standing = await this.#storeAll(batch)
      batch.forEach(({ stored }, index) => {
        const stands = standing.get(index)
        stored(stands ? new Map([[0, stands]]) : new Map())
      })
    } catch (error) {
      // Of a broken connection nobody knows what was committed: each caller asks again by its own id.
      if (batch.length === 1 || isWorthAnotherTry(error)) for (const { failed } of batch) failed(error)
      else await Promise.all(batch.map((one) => this.#storeAll([one]).then(one.stored, one.failed)))
    } finally {
      this.#underWay -= 1
      void this.#send()
    }
  }

  /** As many as one statement takes, all of one owner, because a statement has one; of the others the first is the next in turn. */
  #next(): Waiting[] {
    const owner = this.#waiting[0]?.owner
    const batch: Waiting[] = []
    const left: Waiting[] = []
    let characters = 0
    for (const one of this.#waiting) {
      const fits = batch.length < mostAtOnce.jobs && (batch.length === 0 || characters < mostAtOnce.characters)
      if (one.owner === owner && fits) {
        batch.push(one)
        characters += one.job.payload.length
      } else left.push(one)
    }
    this.#waiting = left
    return batch
  }

  #storeAll(batch: readonly Waiting[]): Promise<Map<number, Stands>> {
    const jobs = batch.map(({ job }) => job)
    return this.#store.enqueue(jobs, { fresh: true, keysTaken: false, wakeAlways: false, owner: batch[0]?.owner })
  }
}

/** Whether a job can be stored beside any other without waiting for somebody else's transaction. */
export function waitsForNobody(job: NewJob): boolean {
  return !job.brought && job.idempotencyKey === null && (job.unique === null || job.unique === false)
}
