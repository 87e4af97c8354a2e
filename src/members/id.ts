import { isJobId } from '../job/id.js'
import { didYouMean } from '../job/nearest.js'
import { refused } from '../job/refused.js'

/**
 * A job's id in a system of several databases is its member and the id it has there: `eu:01890000-0000-7000-8000-0000000000aa`. In its own
 * database, for its handler, its SQL and the foreign keys of its data, it is the UUID alone, whoever made it.
 * The price: such an id is a text of up to 72 characters and no UUID.
 */
export interface MemberId {
  /** Undefined: the id does not say it. */
  member: string | undefined
  id: string
}

/** 1 to 32 characters that stand in ids, paths, names of variables and of servers in SQL alike. */
const shape = /^[a-z][a-z0-9_]{0,31}$/

export function isMemberName(name: string): boolean {
  return shape.test(name)
}

export function withMember(member: string, id: string): string {
  return `${member}:${id}`
}

/** Reads an id, with or without its member. One of a member that is not there is refused, and so is what is no id. */
export function readMemberId(text: string, members: readonly string[], field = 'id'): MemberId {
  const [, member, id = ''] = /^(?:([^:]*):)?(.*)$/s.exec(String(text)) ?? []
  if (!isJobId(id)) {
    throw refused(field, `is ${JSON.stringify(text)}, which is no job id; it is a member and a UUID, as ${members[0]}:0190…`)
  }
  if (member === undefined || members.includes(member)) return { member, id: id.toLowerCase() }
  throw refused(
    field,
    `is of "${member}", which is no member of this system${didYouMean(member, members)}; there are ${members.join(', ')}`,
  )
}
