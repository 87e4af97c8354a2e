import { checkedFingerprint } from '../job/fingerprint.js'
import { timeOfJobId } from '../job/id.js'
import { didYouMean } from '../job/nearest.js'
import { decodePayload, encodePayload } from '../job/payload.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { isStatus, type JobStatus, statuses } from '../job/state.js'
import { readTagsAsked } from '../job/tags.js'
import { storableText } from '../job/text.js'
import { timeAsked } from '../job/time-asked.js'
import type { Privacy } from '../privacy/privacy.js'
import type { ListFilter } from '../store/inspect-store.js'
import type { Store } from '../store/store.js'
import { type JobSummary, shownJob } from './story.js'

/** Which jobs are listed: those that fit every field that is given, ended or not. */
export interface JobListFilter {
  type?: string
  status?: JobStatus
  /** The lane it stands in; of a job that has ended, that of its type. */
  lane?: string
  concurrencyKey?: string
  /** The service that enqueued it over HTTP. */
  owner?: string
  /** Created at this time or later. */
  createdAfter?: Date
  createdBefore?: Date
  /** The job has all of these tags, and may have more. */
  tags?: readonly string[]
  /** The payload holds at least this: `{ tenant: 7 }` fits every payload with that field. */
  payload?: unknown
  /** Stands somewhere in its id, keys, tags, owner, last error, or payload if nothing of that is redacted or encrypted; capitals do not matter. */
  text?: string
  /** Its last failure is in this error group, by the fingerprint. */
  errorGroup?: string
  /** Part of this batch or execution. */
  batch?: string
  /** Ended at this time or later. */
  endedAfter?: Date
  endedBefore?: Date
}

/** One page of a list of jobs. */
export interface JobPage {
  /** Newest first, as people see them. */
  jobs: JobSummary[]
  /** The cursor of the next page; null: this was the last. */
  next: string | null
  /** How far back this page looked, by the times in the ids of jobs; null: as far as there are jobs. */
  lookedBackTo: Date | null
}

const known = [
  'type',
  'status',
  'lane',
  'concurrencyKey',
  'owner',
  'createdAfter',
  'createdBefore',
  'payload',
  'tags',
  'text',
  'errorGroup',
  'batch',
  'endedAfter',
  'endedBefore',
]
/** How many jobs one page looks at to find those that fit. A payload or an error has to be read, and a status or a lane looked up, job by job. */
const mostLookedAt = { closely: 2_000, otherwise: 4_000 }
/** Of payloads, for one page: as long as it takes to read them out of the database, and as much as is answered with at once. */
const mostRead = 2 * 1024 * 1024

/** One page of jobs, newest first. It may be short, or empty, and only `next` says whether it is the last: no page looks at everything. */
export async function listJobs(
  store: Store,
  privacy: Privacy,
  filter: ListFilter,
  { cursor, limit }: { cursor: string | null; limit: number },
): Promise<JobPage> {
  if (filter.payload !== null) {
    const types = await store.types(filter.type === null ? null : [filter.type])
    privacy.refuseToSearch(decodePayload(filter.payload), types)
  }
  const readable = filter.text === null ? [] : privacy.shownWhole(await store.types(null))
  const { payload, text, status, lane, errorGroup, endedAfter, endedBefore } = filter
  const closely = [payload, text, status, lane, errorGroup, endedAfter, endedBefore].some((asked) => asked !== null)
  const look = closely ? mostLookedAt.closely : mostLookedAt.otherwise
  const page = await store.inspect.listJobs(filter, cursor, { limit, look, bytes: mostRead, readable })
  const rows = new Map((await store.inspect.jobs(page.jobs)).map((row) => [row.id, shownJob(row, privacy)]))
  const lookedBackTo = page.next === null ? null : new Date(timeOfJobId(page.next))
  return { jobs: page.jobs.flatMap((id) => rows.get(id) ?? []), next: page.next, lookedBackTo }
}

/** Checks a filter whole, and brings it into the form the database takes. */
export function encodeListFilter(filter: JobListFilter): ListFilter {
  refuseUnknown(filter, known)
  const { status, payload } = filter
  if (status !== undefined && !isStatus(status)) {
    const names = Object.keys(statuses)
    throw refused('status', `is ${String(status)}${didYouMean(String(status), names)}; there are ${names.join(', ')}`)
  }
  return {
    type: text(filter.type, 'type'),
    status: status ?? null,
    lane: text(filter.lane, 'lane'),
    concurrencyKey: text(filter.concurrencyKey, 'concurrencyKey'),
    owner: text(filter.owner, 'owner'),
    createdAfter: timeAsked(filter.createdAfter, 'createdAfter'),
    createdBefore: timeAsked(filter.createdBefore, 'createdBefore'),
    payload: payload === undefined ? null : encodePayload(payload),
    tags: readTagsAsked(filter.tags),
    text: text(filter.text, 'text'),
    errorGroup: filter.errorGroup === undefined ? null : checkedFingerprint(filter.errorGroup, 'errorGroup'),
    batch: filter.batch === undefined ? null : uuidOf(filter.batch, 'batch', 'is not the id of a batch or an execution'),
    endedAfter: timeAsked(filter.endedAfter, 'endedAfter'),
    endedBefore: timeAsked(filter.endedBefore, 'endedBefore'),
  }
}

export function encodePageOptions(options: { cursor?: string; limit?: number }): { cursor: string | null; limit: number } {
  refuseUnknown(options, ['cursor', 'limit'])
  const { cursor, limit = 20 } = options
  const at = cursor === undefined ? null : uuidOf(cursor, 'cursor', 'is not what a page of jobs gave as its next')
  return { cursor: at, limit: wholeNumber(limit, 'limit', 1, 100) }
}

function uuidOf(value: unknown, field: string, problem: string): string {
  if (typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)) return value
  throw refused(field, problem)
}

function text(value: unknown, field: string): string | null {
  if (value === undefined) return null
  if (typeof value === 'string' && value !== '') return storableText(value, field)
  throw refused(field, 'must be a text that is not empty')
}
