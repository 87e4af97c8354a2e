import type { ClaimedJob } from '../job/claimed.js'

interface Parked {
  readonly job: ClaimedJob
  /** Called when it may start. */
  readonly resume: (job: ClaimedJob) => void
}

interface Strand {
  running: number
  parked: Parked[]
}

/**
 * Jobs of a key with a limit. One claim may hold more of them than may run at once; here the others wait until one of their key has
 * ended, in whichever slots of the worker it runs.
 */
export class Strands {
  readonly #strands = new Map<string, Strand>()

  /** Whether the job may start now. Otherwise it is kept here until it may. */
  enter(job: ClaimedJob, resume: (job: ClaimedJob) => void): boolean {
    if (!job.strand) return true
    const { key, most } = job.strand
    const strand = this.#strands.get(key)
    if (strand === undefined) this.#strands.set(key, { running: 1, parked: [] })
    else if (strand.running < most) strand.running += 1
    else {
      strand.parked.push({ job, resume })
      return false
    }
    return true
  }

  /** The job runs no more: the next of its key may. */
  leave(job: ClaimedJob): void {
    if (!job.strand) return
    const { key } = job.strand
    const strand = this.#strands.get(key)
    if (strand === undefined) return
    const next = strand.parked.shift()
    if (next) next.resume(next.job)
    else if (strand.running > 1) strand.running -= 1
    else this.#strands.delete(key)
  }

  /** Takes out what waits here and fits, in no order. */
  takeOut(which: (job: ClaimedJob) => boolean): ClaimedJob[] {
    const out: ClaimedJob[] = []
    for (const strand of this.#strands.values()) {
      const fits = strand.parked.filter(({ job }) => which(job))
      if (fits.length === 0) continue
      strand.parked = strand.parked.filter(({ job }) => !which(job))
      out.push(...fits.map(({ job }) => job))
    }
    return out
  }
}
