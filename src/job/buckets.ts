/** The upper bounds of the histogram of durations, in seconds. What is kept counts by their indexes: add only at the end. */
export const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600] as const

/** How many bounds a duration is longer than: the index of its bucket, the last one having no bound. */
export function bucketOf(seconds: number): number {
  let index = 0
  while (index < bounds.length && seconds > (bounds[index] as number)) index++
  return index
}
