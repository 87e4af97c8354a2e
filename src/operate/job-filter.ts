import { didYouMean } from '../job/nearest.js'
import { encodePayload } from '../job/payload.js'
import { refused, wholeNumber } from '../job/refused.js'
import type { JobStatus } from '../job/state.js'
import { readTagsAsked } from '../job/tags.js'
import { storableText } from '../job/text.js'
import type { EncodedFilter } from '../store/move-store.js'

/** A status of a job that has not ended. */
export type LiveStatus = Exclude<JobStatus, 'completed' | 'cancelled' | 'dead' | 'discarded'>

/** Which jobs are meant: those that fit every field that is given. Only jobs that have not ended are looked at. */
export interface JobFilter {
  type?: string
  status?: LiveStatus
  lane?: string
  concurrencyKey?: string
  priority?: number
  createdBefore?: Date
  /** The job has all of these tags, and may have more. */
  tags?: readonly string[]
  /** The payload holds at least this: `{ tenant: 7 }` fits every payload with that field. */
  payload?: unknown
  /** Every job there is. Has to be said, because an empty filter is more often a mistake. */
  all?: true
}

const known = ['type', 'status', 'lane', 'concurrencyKey', 'priority', 'createdBefore', 'tags', 'payload', 'all']
const live: readonly LiveStatus[] = ['awaiting_approval', 'scheduled', 'blocked', 'pending', 'processing', 'failed']

/** Checks a filter whole, and brings it into the form the database takes. */
export function encodeFilter(filter: JobFilter): EncodedFilter {
  if (filter === null || typeof filter !== 'object') throw refused('filter', 'is missing')
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  for (const [field] of given) {
    if (!known.includes(field)) throw refused(field, `is not known${didYouMean(field, known)}; known are ${known.join(', ')}`)
  }
  if (given.length === 0) throw refused('filter', 'is empty, which would mean every job; say { all: true } if it is meant')
  const { type, status, lane, concurrencyKey, priority, createdBefore, tags, payload, all } = filter
  if (all !== undefined && all !== true) throw refused('all', 'is true or left out')
  for (const [field, text] of Object.entries({ type, lane, concurrencyKey })) {
    if (text !== undefined && (typeof text !== 'string' || text === '')) throw refused(field, 'must be a text that is not empty')
    if (text !== undefined) storableText(text, field)
  }
  if (status !== undefined && !live.includes(status)) {
    throw refused(
      'status',
      `is ${String(status)}${didYouMean(String(status), live)}; jobs that have not ended are ${live.join(', ')}`,
    )
  }
  if (createdBefore !== undefined && !(createdBefore instanceof Date && !Number.isNaN(createdBefore.getTime()))) {
    throw refused('createdBefore', 'must be a valid Date')
  }
  return {
    type: type ?? null,
    status: status ?? null,
    lane: lane ?? null,
    concurrencyKey: concurrencyKey ?? null,
    priority: priority === undefined ? null : wholeNumber(priority, 'priority', 0, 9),
    createdBefore: createdBefore?.toISOString() ?? null,
    payload: payload === undefined ? null : encodePayload(payload),
    tags: readTagsAsked(tags),
  }
}
