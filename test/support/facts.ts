import { setTimeout as pause } from 'node:timers/promises'

/**
 * Resolves with what `fact` answers as soon as it is neither false nor undefined and does not throw. The deadline is for
 * a machine that is busy with other things; a fact that is true sooner costs no more than its time.
 */
export async function eventually<T>(
  fact: () => T | Promise<T>,
  { within = 30_000, every = 25 }: { within?: number; every?: number } = {},
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + within
  for (;;) {
    let why: unknown
    try {
      const answer = await fact()
      if (answer !== false && answer !== undefined) return answer as Exclude<T, false | undefined>
    } catch (error) {
      why = error
    }
    if (performance.now() > deadline) throw why ?? new Error(`not true within ${within} ms: ${fact}`)
    await pause(every)
  }
}
