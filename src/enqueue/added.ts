import { monotonicMs } from '../clock.js'

/** Jobs that are stored this close together are one entry. */
const togetherMs = 20
const mostEntries = 500

/**
 * How many jobs this process has stored, and when, until a count of the database includes them. It stays small: jobs stored close
 * together are one entry, and if no count comes for long the oldest entries are joined. A joined entry has the time of its latest job,
 * so it is never taken for counted too early.
 */
export class Added {
  #entries: { at: number; jobs: number }[] = []

  add(jobs: number, now = monotonicMs()): void {
    const last = this.#entries.at(-1)
    if (last && now - last.at < togetherMs) {
      last.jobs += jobs
      return
    }
    this.#entries.push({ at: now, jobs })
    if (this.#entries.length > mostEntries) this.#join()
  }

  /** Forgets the jobs that were stored before a count was made: the count has them, they have ended since, or were rolled back. */
  countedAt(at: number): void {
    if ((this.#entries[0]?.at ?? at) < at) this.#entries = this.#entries.filter((entry) => entry.at >= at)
  }

  get jobs(): number {
    return this.#entries.reduce((sum, entry) => sum + entry.jobs, 0)
  }

  get entries(): number {
    return this.#entries.length
  }

  /** Every two neighbours become one. */
  #join(): void {
    this.#entries = this.#entries.flatMap((entry, index) => {
      if (index % 2 === 0) return index === this.#entries.length - 1 ? [entry] : []
      return [{ at: entry.at, jobs: entry.jobs + (this.#entries[index - 1]?.jobs ?? 0) }]
    })
  }
}
