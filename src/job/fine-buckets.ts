/** The first bound, in seconds, and by how much each is greater than the one before: a share of attempts is known to 4 %. */
const first = 0.001
const growth = 1.04
const last = 450

/** The bucket of a duration; that of index 0 ends at a millisecond. What is kept counts by these indexes: they never change. */
export function fineBucketOf(seconds: number): number {
  if (seconds <= first) return 0
  return Math.min(last, Math.ceil(Math.log(seconds / first) / Math.log(growth)))
}

/** How many seconds what is in a bucket took, in the middle. */
export function fineSeconds(bucket: number): number {
  return bucket === 0 ? first / 2 : first * growth ** (bucket - 0.5)
}

/** Below how many seconds that share of what was counted lies; null where nothing was. */
export function fineShare(counts: readonly (readonly [bucket: number, count: number])[], share: number): number | null {
  const whole = counts.reduce((sum, [, count]) => sum + count, 0)
  let upTo = 0
  for (const [bucket, count] of [...counts].sort(([a], [b]) => a - b)) {
    upTo += count
    if (upTo >= whole * share) return fineSeconds(bucket)
  }
  return null
}
