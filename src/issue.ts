/** Where something stands: names of fields, and indexes in lists, such as `['unique', 'onConflict']` or `['payload', 'items', 0]`. */
export type Path = readonly (string | number)[]

/** One thing that is wrong with what was given. */
export interface Issue {
  readonly path: Path
  /** What is wrong and what would be right, for a person. The field stands before it. */
  readonly problem: string
  /** What was given, where it is no secret and no payload. */
  readonly value?: unknown
  /** What would be right. */
  readonly expected?: string
  /**
   * The problem with the names of options apart from the rest, for those who write them in another way.
   * @internal
   */
  readonly words?: Words
}

/** The name of an option inside of a sentence. The library writes it as it is, HTTP in snake_case. */
export class OptionName {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

export type Words = readonly (string | OptionName)[]
export type Spelling = (name: string) => string

const asItIs: Spelling = (name) => name

/** A path as one text: `unique.onConflict`, `jobs[3].payload.items[0]["a b"]`. What is inside of a payload has names of its own. */
export function fieldOf(path: Path, spelled: Spelling = asItIs): string {
  const below = path.indexOf('payload')
  const steps = path.map((step, at) => {
    if (typeof step === 'number') return `[${step}]`
    const name = below >= 0 && at > below ? step : spelled(step)
    if (at === 0) return name
    return /^[A-Za-z_$][\w$]{0,99}$/.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 100))}]`
  })
  return steps.join('')
}

/** Reads what fieldOf writes of our own options: `unique.onConflict`, `results[2].delay`. */
export function pathOf(field: string): Path {
  return field.split('.').flatMap((step) => {
    const [, name = step, index] = /^(.*)\[(\d+)\]$/.exec(step) ?? []
    return index === undefined ? [name] : [name, Number(index)]
  })
}

export function textOf(words: Words, spelled: Spelling = asItIs): string {
  return words.map((word) => (typeof word === 'string' ? word : spelled(word.name))).join('')
}

/** One issue as a sentence. */
export function sentenceOf(issue: Issue, spelled: Spelling = asItIs): string {
  const problem = issue.words ? textOf(issue.words, spelled) : issue.problem
  return issue.path.length === 0 ? problem : `${fieldOf(issue.path, spelled)} ${problem}`
}

/** One or several issues as a message: a sentence, or a list under what they have in common. */
export function messageOf(issues: readonly Issue[], heading: string, spelled: Spelling = asItIs): string {
  const [only, ...more] = issues.map((issue) => sentenceOf(issue, spelled))
  if (only === undefined) return heading
  return more.length === 0 ? only : `${heading}:\n  ${[only, ...more].join('\n  ')}`
}
