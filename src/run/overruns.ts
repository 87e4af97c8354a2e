import { monotonicMs } from '../clock.js'
import type { RunningAttempt } from './attempt.js'

/** A handler that was told to stop has this long before it is said to ignore it. */
const returnsWithinMs = 2_000
const told = Number.POSITIVE_INFINITY

/** Inline handlers that go on after their attempt was given up. Nobody can end them; they are waited for and named. */
export class Overruns {
  /** Each with the time at which to say so. */
  readonly #tellAt = new Map<RunningAttempt, number>()

  /** The types of handlers that ignore that they were told to stop, each as often as it does. */
  get types(): string[] {
    return [...this.#tellAt].filter(([, tellAt]) => tellAt === told).map(([attempt]) => attempt.job.type.type)
  }

  expect(attempt: RunningAttempt): void {
    this.#tellAt.set(attempt, monotonicMs() + returnsWithinMs)
  }

  /** True where it came later than one that obeys does. */
  returned(attempt: RunningAttempt): boolean {
    const late = monotonicMs() >= (this.#tellAt.get(attempt) ?? Number.POSITIVE_INFINITY) || this.#tellAt.get(attempt) === told
    this.#tellAt.delete(attempt)
    return late
  }

  /** Says which of them ignore it. True while there may be more to say. */
  tell(now: number, say: (attempt: RunningAttempt) => void): boolean {
    let more = false
    for (const [attempt, tellAt] of this.#tellAt) {
      if (now < tellAt) {
        more ||= tellAt !== told
        continue
      }
      this.#tellAt.set(attempt, told)
      say(attempt)
    }
    return more
  }
}
