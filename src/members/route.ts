import { createHash } from 'node:crypto'
import { newJobId } from '../job/id.js'
import { option, refused, says } from '../job/refused.js'
import type { JobRequest } from '../job/type.js'
import type { Uniqueness } from '../job/unique.js'

/** The part of a key by which it is routed: what stands in its first braces, as in `{customer-7}/order-9`, and otherwise all of it. */
export function routedPart(key: string): string {
  return /\{([^{}]+)\}/.exec(key)?.[1] ?? key
}

/**
 * The member that a key belongs to: rendezvous hashing, so that of n members a new one takes over one key in n + 1, and no other key
 * moves. The database has the same function (`holdfast.member_of`), so that SQL producers and PL/Proxy agree with this one.
 */
export function memberOf(key: string, members: readonly string[]): string | undefined {
  const part = routedPart(key)
  let [best, bestHash]: [string | undefined, Buffer] = [undefined, Buffer.alloc(0)]
  for (const member of members) {
    const hash = createHash('sha256').update(`${member}/${part}`, 'utf8').digest()
    if (best === undefined || Buffer.compare(hash, bestHash) > 0) [best, bestHash] = [member, hash]
  }
  return best
}

/** A key of a job that has to meet the same key of other jobs in one member. */
interface Meeting {
  option: string
  key: string
}

/** Of a type that is given by its name alone: how the database makes its jobs unique. */
export type StoredUniqueness = (type: string) => Uniqueness | null | undefined

/**
 * The key by which jobs that are stored together are routed. Idempotency keys and unique keys are looked for in one member alone, so
 * they have to say which one: a key beside them is refused unless it is routed as they are. `brought`: it is the same when the call is
 * sent again.
 */
export function routingKey(
  requests: readonly JobRequest[],
  key: string | undefined,
  stored: StoredUniqueness,
): { key: string; brought: boolean } {
  const meetings = requests.flatMap((request) => meetingsOf(request, stored))
  const [first] = meetings
  const asked = key === undefined ? first : { option: 'key', key }
  const apart = asked && meetings.find((one) => routedPart(one.key) !== routedPart(asked.key))
  if (asked && apart) {
    const both = says`is "${asked.key}", and ${option(apart.option)} is "${apart.key}", which may belong to another member, where jobs with the same ${option(apart.option)} would not find each other; leave out ${option('key')}, write both with the same part in braces, as {customer-7}, or name the member`
    throw refused(asked.option, both)
  }
  if (asked) return { key: asked.key, brought: true }
  const concurrency = [...new Set(requests.map(({ concurrencyKey }) => concurrencyKey))]
  if (concurrency.length === 1 && concurrency[0] !== undefined) return { key: concurrency[0], brought: true }
  const id = requests[0]?.id
  return id === undefined ? { key: newJobId(), brought: false } : { key: id.toLowerCase(), brought: true }
}

function meetingsOf(request: JobRequest, stored: StoredUniqueness): Meeting[] {
  const { idempotencyKey, type } = request
  const found: Meeting[] = idempotencyKey === undefined ? [] : [{ option: 'idempotencyKey', key: String(idempotencyKey) }]
  const unique = request.unique ?? (typeof type === 'string' ? stored(type) : type.unique)
  if (!unique) return found
  if (unique.key !== undefined) return [...found, { option: 'unique.key', key: String(unique.key) }]
  const name = typeof type === 'string' ? type : type.type
  throw refused(
    'unique',
    says`of ${name} is made from the payload, which says nothing of the member: give ${option('unique.key')}, or name the member`,
  )
}
