import { type ErrorCode, HoldfastError } from '../errors.js'
import { type Issue, type Path, sentenceOf } from '../issue.js'
import { issueOf, refusal, unknownNames } from './refused.js'

/** Goes through options to the end and throws everything that is wrong with them at once. */
export class Checker {
  readonly #issues: Issue[] = []

  /** Names every option that is not known. */
  known(given: object, names: readonly string[], path: Path = []): void {
    this.#issues.push(...unknownNames(given, names, path))
  }

  wrong(field: string | Path, problem: string): void {
    this.#issues.push(issueOf(field, problem))
  }

  /** What was read; where it was refused, the other value, so that the rest can be read as well. `within`: where what is read stands. */
  read<Value>(read: () => Value, otherwise: Value, within: Path = []): Value {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      const { issues, message } = error
      const found: readonly Issue[] = issues.length > 0 ? issues : [{ path: [], problem: message }]
      this.#issues.push(...found.map((issue) => ({ ...issue, path: [...within, ...issue.path] })))
      return otherwise
    }
  }

  get count(): number {
    return this.#issues.length
  }

  /** What was wrong, as one error. What several readers of the same thing found is said once. */
  problem(code: ErrorCode, heading: string): HoldfastError {
    const once = new Map(this.#issues.map((issue) => [sentenceOf(issue), issue]))
    return refusal(code, [...once.values()], heading)
  }

  /** Throws if anything was wrong. */
  done(code: ErrorCode, heading: string): void {
    if (this.#issues.length > 0) throw this.problem(code, heading)
  }
}
