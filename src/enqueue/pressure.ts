import type { Depth } from '../store/rows.js'

export interface Refusal {
  depth: Depth
  /** Jobs of this priority and below are refused. */
  upTo: number
  why: string
  retryAfterMs: number
}

/**
 * Decides whether jobs may be added. Between soft and hard the priorities are refused one after the other, the lowest first; from
 * hard on, all are. When the oldest job is above the age limit the lower half is refused, above twice the limit all are.
 */
export function refusal(depths: readonly Depth[], priority: number, count: number): Refusal | undefined {
  for (const depth of depths) {
    const upTo = Math.max(refusedByDepth(depth, count), refusedByAge(depth))
    if (priority > upTo) continue
    const scope = depth.scope === 'queue' ? 'the queue' : `${depth.scope} ${depth.name}`
    const why =
      refusedByDepth(depth, count) >= refusedByAge(depth)
        ? `${scope} has ${depth.waiting} jobs waiting (soft limit ${depth.soft ?? 'none'}, hard limit ${depth.hard ?? 'none'})`
        : `the oldest job of ${scope} has been waiting for ${Math.round((depth.ageMs ?? 0) / 1000)} s (limit ${Math.round((depth.oldestMs ?? 0) / 1000)} s)`
    return { depth, upTo, why, retryAfterMs: upTo >= 9 ? 30_000 : 5_000 }
  }
  return undefined
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
