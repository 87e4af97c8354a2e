import { type ErrorCode, HoldfastError } from '../errors.js'
import { type Issue, messageOf, OptionName, type Path, pathOf, textOf, type Words } from '../issue.js'
import { showValue } from './failure.js'
import { didYouMean } from './nearest.js'

/** A sentence that names options: says`leave out ${option('runAt')}`. */
export function says(texts: TemplateStringsArray, ...between: unknown[]): Words {
  return texts.flatMap((text, at) => {
    const value = between[at]
    return at >= between.length ? [text] : [text, value instanceof OptionName ? value : String(value)]
  })
}

export function option(name: string): OptionName {
  return new OptionName(name)
}

/** An option has a value it cannot have. The problem is said of the field: `is 12; it must be a whole number from 0 to 9`. */
export function refused(field: string | Path, problem: string | Words): HoldfastError {
  return refusal('invalid_option', [issueOf(field, problem)])
}

/** The same of what a program is started with: options of Holdfast, a worker or a server, and the environment. */
export function misconfigured(field: string | Path, problem: string | Words): HoldfastError {
  return refusal('invalid_configuration', [issueOf(field, problem)])
}

/** For the most frequent kind: what was given, and what would be right. */
export function notA(field: string | Path, value: unknown, expected: string, guess = ''): HoldfastError {
  const issue = issueOf(field, `is ${showValue(value)}${guess}; it must be ${expected}`)
  return refusal('invalid_option', [{ ...issue, value, expected }])
}

export function issueOf(field: string | Path, problem: string | Words): Issue {
  const words = typeof problem === 'string' ? [problem] : problem
  return { path: typeof field === 'string' ? pathOf(field) : field, problem: textOf(words), words }
}

export function refusal(code: ErrorCode, issues: readonly Issue[], heading = 'several options are wrong'): HoldfastError {
  return new HoldfastError(code, messageOf(issues, heading), { issues })
}

/** Every name that is not known, each with the one that was probably meant. */
export function unknownNames(given: object, known: readonly string[], path: Path = [], what = 'known'): Issue[] {
  return Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => issueOf([...path, name], `is not ${what}${didYouMean(name, known)}; known are ${known.join(', ')}`))
}

export function refuseUnknown(given: object, known: readonly string[], path: Path = []): void {
  const issues = unknownNames(given, known, path)
  if (issues.length > 0) throw refusal('invalid_option', issues)
}

export function wholeNumber(value: unknown, field: string | Path, low: number, high: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high) return value
  throw notA(field, value, `a whole number from ${low} to ${high}`)
}

export function trueOrFalse(value: unknown, field: string | Path): boolean {
  if (typeof value === 'boolean') return value
  throw notA(field, value, 'true or false')
}

/** Some of these fields are to be given back by their names. */
export function refuseUnknownNames(given: readonly string[] | undefined, known: readonly string[]): void {
  const unknown = given?.find((one) => !known.includes(one))
  if (unknown === undefined) return
  const listed = known.flatMap((name) => says`, ${option(name)}`).slice(1)
  throw refused('fields', [...says`names "${option(unknown)}"; there are `, ...listed])
}
