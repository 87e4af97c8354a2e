import { HoldfastError } from '../errors.js'

/** Who does it and why; kept where people see it. */
export interface By {
  by: string
  why?: string
}

const longest = 500

export function named(who: By): { by: string; why: string | null } {
  const { by, why } = who ?? {}
  if (typeof by !== 'string' || by.trim() === '') {
    throw refused('by', 'is missing: say who does this, it is shown to everybody who wonders')
  }
  if (why !== undefined && typeof why !== 'string') throw refused('why', 'must be a text')
  for (const [field, text] of Object.entries({ by, why: why ?? '' })) {
    if (text.length > longest) throw refused(field, `has ${text.length} characters; at most ${longest} are kept`)
    if (/[\0\p{Surrogate}]/u.test(text)) throw refused(field, 'holds a character no database can keep')
  }
  return { by, why: why ?? null }
}

function refused(field: string, problem: string): HoldfastError {
  return new HoldfastError('invalid_option', `${field} ${problem}`, { field })
}
