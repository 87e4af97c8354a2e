import { Checker } from './checker.js'
import { showValue } from './failure.js'

/** A job that shows that a new build can do the work of its type, where it runs. */
export interface SmokeOption<Payload = unknown> {
  /** The payload of the job. What it does happens: give it an address of your own, or a mark that the handler knows. */
  payload: Payload
  /**
   * Looks whether the work was done, such as whether the file is there. The test has failed where it throws or answers `false`. It runs in the
   * process that asked for the test.
   * @default none: the job has to complete
   */
  // biome-ignore lint/suspicious/noExplicitAny: typed by what `run` returns, it would have to stand behind it in the definition
  check?(result: any, payload: Payload): unknown
}

export function readSmoke(smoke: unknown, type: string): SmokeOption | undefined {
  if (smoke === undefined) return undefined
  const check = new Checker()
  if (typeof smoke !== 'object' || smoke === null || !('payload' in smoke)) {
    check.wrong('smoke', `is ${showValue(smoke)}; it must be an object with a payload, and check if that is not enough`)
    check.done('invalid_option', `the smoke test of ${type} has problems`)
  }
  check.known(smoke as object, ['payload', 'check'], ['smoke'])
  const { check: look } = smoke as Partial<SmokeOption>
  if (look !== undefined && typeof look !== 'function') check.wrong('smoke.check', `of ${type} is not a function`)
  check.done('invalid_option', `the smoke test of ${type} has problems`)
  return Object.freeze({ ...(smoke as SmokeOption) })
}
