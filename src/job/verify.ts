import { Checker } from './checker.js'
import { type Duration, toMilliseconds } from './duration.js'
import { showValue } from './failure.js'
import { refused } from './refused.js'

/** Whether completed jobs of a type have truly done their work is looked at again, for a share of them. */
export interface VerifyOption<Payload = unknown> {
  /**
   * Looks at the outside world, such as whether the file is there: the work was not done where it answers `false`. Where it throws, it could not tell,
   * and is asked again twice.
   */
  // biome-ignore lint/suspicious/noExplicitAny: typed by what `run` returns, it would have to stand behind it in the definition
  check(payload: Payload, result: any): unknown
  /**
   * Of how many completed jobs, 0 to 1.
   * @range above 0, 1 at most
   * @default 0.01
   */
  share?: number
  /**
   * How long after the end of the job.
   * @range 0 to 1 day
   * @default '10m'
   */
  after?: Duration
}

/** The same, checked. */
export interface Verify {
  readonly check: (payload: unknown, result: unknown) => unknown
  readonly share: number
  readonly afterMs: number
}

const day = 86_400_000
/** The name of the type that verifies has to be a name too. */
const longestName = 180

export function readVerify(verify: unknown, type: string): Verify | undefined {
  if (verify === undefined) return undefined
  const check = new Checker()
  const { check: look, share = 0.01, after = '10m' } = (verify ?? {}) as Partial<VerifyOption>
  if (typeof look !== 'function') {
    check.wrong('verify', `of ${type} is ${showValue(verify)}; it must be an object with a function check, and share and after`)
    check.done('invalid_option', `the verification of ${type} has problems`)
  }
  check.known(verify as object, ['check', 'share', 'after'], ['verify'])
  if (typeof share !== 'number' || !(share > 0 && share <= 1)) {
    check.wrong('verify.share', `of ${type} is ${showValue(share)}; it must be above 0 and 1 at most`)
  }
  if (type.length > longestName) check.wrong('type', `has more than ${longestName} characters, too many for a type with verify`)
  const afterMs = check.read(() => {
    const ms = toMilliseconds(after, 'verify.after')
    if (ms > day) throw refused('verify.after', `of ${type} is more than a day`)
    return ms
  }, 0)
  check.done('invalid_option', `the verification of ${type} has problems`)
  return Object.freeze({ check: look as Verify['check'], share, afterMs })
}
