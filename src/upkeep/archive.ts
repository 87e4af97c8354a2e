import { randomUUID } from 'node:crypto'
import { HoldfastError } from '../errors.js'
import { refuseUnknown, wholeNumber } from '../job/refused.js'
import type { ArchivedJob } from '../store/archive-store.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { tryAgain } from '../store/try-again.js'

/** How `archive` goes through a day. */
export interface ArchiveOptions {
  /**
   * How many jobs are read at once, 1 to 1,000.
   * @range 1 to 1,000
   * @default 100
   */
  atOnce?: number
}

/** A day that is handed on. */
export interface ArchiveDay {
  /** By UTC, as 2030-01-31. */
  day: string
  /** Every job that ended on that day, once, by id. Read all of them. */
  jobs: AsyncIterable<ArchivedJob>
}

/** A day that has been handed on. */
export interface ArchivedDay {
  day: string
  jobs: number
}

const first = '00000000-0000-0000-0000-000000000000'
const tries = 5
/** A job of the day may be forgotten while it is written, which then begins again. */
const runs = 3

/**
 * Hands on each day that is over, the oldest first. A day counts as archived when `write` has resolved, and not before; one that was cut short is
 * begun again by the next call.
 */
export async function archive(
  store: Store,
  write: (day: ArchiveDay) => Promise<void>,
  options: ArchiveOptions,
): Promise<ArchivedDay[]> {
  refuseUnknown(options, ['atOnce'])
  const atOnce = wholeNumber(options.atOnce ?? 100, 'atOnce', 1, 1_000)
  const done: ArchivedDay[] = []
  for (const day of await asked(() => store.partitions.archive.days())) {
    const jobs = await archiveDay(store, write, day, atOnce)
    if (jobs !== undefined) done.push({ day, jobs })
  }
  return done
}

/** How many jobs it had; undefined where somebody else has handed it on meanwhile. */
async function archiveDay(
  store: Store,
  write: (day: ArchiveDay) => Promise<void>,
  day: string,
  atOnce: number,
): Promise<number | undefined> {
  for (let left = runs; left > 0; left--) {
    const run = randomUUID()
    if (!(await asked(() => store.partitions.archive.begin(day, run)))) return undefined
    const reading = new Reading(store, day, atOnce)
    await write({ day, jobs: reading })
    const { jobs } = reading
    if (jobs === undefined) {
      throw new HoldfastError('conflict', `the jobs of ${day} were not read to the end, so the day does not count as archived`)
    }
    if (await asked(() => store.partitions.archive.finish(day, run, jobs))) return jobs
  }
  const problem = `the archive of ${day} was begun ${runs} times, and each time a job of it was forgotten or somebody else began it too`
  throw new HoldfastError('conflict', problem)
}

/** The jobs of a day, each page by a short statement of its own. */
class Reading implements AsyncIterable<ArchivedJob> {
  readonly #store: Store
  readonly #day: string
  readonly #atOnce: number
  /** How many there are, once all have been read. */
  jobs: number | undefined

  constructor(store: Store, day: string, atOnce: number) {
    this.#store = store
    this.#day = day
    this.#atOnce = atOnce
  }

  async *[Symbol.asyncIterator](): AsyncIterator<ArchivedJob> {
    this.jobs = undefined
    let read = 0
    for (let after = first, more = true; more; ) {
      const page = await asked(() => this.#store.partitions.archive.page(this.#day, after, this.#atOnce))
      yield* page
      read += page.length
      more = page.length === this.#atOnce
      after = page.at(-1)?.id ?? after
    }
    this.jobs = read
  }
}

async function asked<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await tryAgain(tries, ask)
  } catch (error) {
    throw explained(error)
  }
}
