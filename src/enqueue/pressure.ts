import type { Depth, WaitReason } from '../store/load-rows.js'

/** What becomes of a job that is enqueued: it can run, has a time of its own, or waits for an approval. */
export type Class = 'ready' | 'scheduled' | 'unapproved'

/** How many jobs of each class. */
export type Counts = Record<Class, number>

export interface Refusal {
  depth: Depth
  /** Jobs of this priority and below are refused. */
  upTo: number
  why: string
  retryAfterMs: number
}

/**
 * Decides whether jobs may be added. Between soft and hard the priorities are refused one after the other, the lowest first; from
 * hard on, all are. When the oldest job is above the age limit the lower half is refused, above twice the limit all are. Jobs that do not
 * wait for a worker are no part of that and have limits of their own. holdfast.excess_of decides the same for plain SQL.
 */
export function refusal(depths: readonly Depth[], priority: number, jobs: Counts): Refusal | undefined {
  for (const depth of depths) {
    const scope = depth.scope === 'queue' ? 'the queue' : `${depth.scope} ${depth.name}`
    const full = reasons.find((reason) => isFull(depth, reason, jobs))
    if (full) {
      const why = `${scope} has ${depth.counts[full]} ${full} jobs (limit ${depth.most[full]})`
      return { depth, upTo: 9, why, retryAfterMs: 30_000 }
    }
    if (jobs.ready === 0) continue
    const upTo = Math.max(refusedByDepth(depth, jobs.ready), refusedByAge(depth))
    if (priority > upTo) continue
    const why =
      refusedByDepth(depth, jobs.ready) >= refusedByAge(depth)
        ? `${scope} has ${depth.waiting} jobs waiting (soft limit ${depth.soft ?? 'none'}, hard limit ${depth.hard ?? 'none'})`
        : `the oldest job of ${scope} has been waiting for ${Math.round((depth.ageMs ?? 0) / 1000)} s (limit ${Math.round((depth.oldestMs ?? 0) / 1000)} s)`
    return { depth, upTo, why, retryAfterMs: upTo >= 9 ? 30_000 : 5_000 }
  }
  return undefined
}

const reasons: readonly WaitReason[] = ['scheduled', 'retrying', 'unapproved', 'blocked']

/** Jobs become scheduled and unapproved by an enqueue; retrying and blocked later, so that past these limits whatever may become so is refused. */
function isFull({ counts, most }: Depth, reason: WaitReason, jobs: Counts): boolean {
  const limit = most[reason]
  if (limit === null) return false
  if (reason === 'retrying' || reason === 'blocked') return counts[reason] >= limit
  return jobs[reason] > 0 && counts[reason] + jobs[reason] > limit
}

/** The highest priority that is refused; −1 for none. */
function refusedByDepth({ soft, hard, waiting }: Depth, count: number): number {
  const after = waiting + count
  if (hard !== null && after > hard) return 9
  if (soft === null || after <= soft) return -1
  if (hard === null || hard === soft) return 0
  return Math.min(8, Math.floor(((after - soft) / (hard - soft)) * 9))
}

function refusedByAge({ ageMs, oldestMs }: Depth): number {
  if (oldestMs === null || ageMs === null || ageMs <= oldestMs) return -1
  return ageMs > 2 * oldestMs ? 9 : 4
}
