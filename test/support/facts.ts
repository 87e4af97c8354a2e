import { setTimeout as pause } from 'node:timers/promises'

/** The longest pause between two looks. */
const longestMs = 200

/**
 * Resolves with what `fact` answers as soon as it is neither false nor undefined and does not throw. The deadline is for
 * a machine that is busy with other things; a fact that is true sooner costs no more than its time. The longer it has waited the less
 * often it looks, unless `every` says how often: forty statements a second in each of five processes are a good part of what two cores can do, and what has taken
 * two seconds may take two tenths more.
 */
export async function eventually<T>(
  fact: () => T | Promise<T>,
  { within = 30_000, every }: { within?: number; every?: number } = {},
): Promise<Exclude<T, false | undefined>> {
  const begun = performance.now()
  for (;;) {
    let why: unknown
    try {
      const answer = await fact()
      if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined>
    } catch (error) {
      why = error
    }
    const waitedMs = performance.now() - begun
    if (waitedMs > within) throw why ?? new Error(`not true within ${within} ms: ${fact}`)
    await pause(every ?? Math.min(Math.max(25, waitedMs / 10), longestMs))
  }
}
