import { monotonicMs } from '../clock.js'
import type { RunningAttempt } from './attempt.js'

/** A handler whose signal has fired and that has not returned after this long is reported as ignoring it. */
const returnsWithinMs = 2_000
const told = Number.POSITIVE_INFINITY

/** Inline handlers that go on after their attempt was given up. They cannot be ended, so the worker waits for them and reports them. */
export class Overruns {
  /** When to report each of them. */
  readonly #tellAt = new Map<RunningAttempt, number>()

  /** The types of handlers that ignore that they were told to stop, each as often as it does. */
  get types(): string[] {
    return [...this.#tellAt].filter(([, tellAt]) => tellAt === told).map(([attempt]) => attempt.job.type.type)
  }

  expect(attempt: RunningAttempt): void {
    this.#tellAt.set(attempt, monotonicMs() + returnsWithinMs)
  }

  /** The handler returned. True where it took longer than one that obeys its signal. */
  returned(attempt: RunningAttempt): boolean {
    const late = monotonicMs() >= (this.#tellAt.get(attempt) ?? Number.POSITIVE_INFINITY) || this.#tellAt.get(attempt) === told
    this.#tellAt.delete(attempt)
    return late
  }

  /** Reports those that ignore their signal. True while there may be more to report. */
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
