import type { Holdfast, JobType } from 'holdfast'

/** Enqueues one by one until it is refused; how many were taken, and the refusal. */
export async function fillUntilRefused(
  holdfast: Holdfast,
  type: JobType<unknown>,
  priority: number,
  most = 200,
): Promise<{ taken: number; error?: unknown }> {
  for (let taken = 0; taken < most; taken++) {
    try {
      await holdfast.enqueue(type, null, { priority })
    } catch (error) {
      return { taken, error }
    }
  }
  return { taken: most }
}
