import { refused, refuseUnknown } from './refused.js'
import { unstorable } from './text.js'

/** Who does it and why; kept where people see it. */
export interface Actor {
  by: string
  why?: string
  /** Where it comes from, such as the address of whoever asked; for the audit log. */
  from?: string
}

/** As it is stored. Nobody named: the database's user did it. */
export interface RecordedActor {
  by: string | null
  why: string | null
  from: string | null
}

const longest = 500

export function checkedActor(who: Actor): RecordedActor & { by: string } {
  refuseUnknown(who ?? {}, ['by', 'why', 'from'])
  const { by, why, from } = who ?? {}
  if (typeof by !== 'string' || by.trim() === '') {
    throw refused('by', 'is missing: say who does this, for the audit log')
  }
  if (why !== undefined && typeof why !== 'string') throw refused('why', 'must be a text')
  if (from !== undefined && typeof from !== 'string') throw refused('from', 'must be a text')
  for (const [field, text] of Object.entries({ by, why: why ?? '', from: from ?? '' })) {
    if (text.length > longest) throw refused(field, `has ${text.length} characters; at most ${longest} are kept`)
    if (unstorable.test(text)) throw refused(field, 'has a NUL or half of a surrogate pair, which no database can store')
  }
  return { by, why: why ?? null, from: from ?? null }
}
