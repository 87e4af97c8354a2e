import { encodeListFilter, type JobListFilter } from '../history/list.js'
import { isJobId } from '../job/id.js'
import { didYouMean } from '../job/nearest.js'
import { decodePayload } from '../job/payload.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import type { JobStatus } from '../job/state.js'
import type { Privacy } from '../privacy/privacy.js'
import type { NewBulk } from '../store/bulk-store.js'
import type { ListFilter } from '../store/inspect-store.js'
import type { TypeRow } from '../store/rows.js'
import { type Confirm, readConfirm } from './confirm.js'
import { type NewTime, readTime } from './moves.js'

const live = ['awaiting_approval', 'scheduled', 'blocked', 'pending', 'processing', 'failed'] as const
/** A bulk action that buries refuses those that run. */
const notRunning = ['awaiting_approval', 'scheduled', 'blocked', 'pending', 'failed'] as const
/** What can be done to many jobs, and to jobs of which statuses. */
export const bulkActions = {
  cancel: live,
  retry: ['failed', 'dead'],
  replay: ['dead'],
  discard: ['dead'],
  'run-now': live,
  reschedule: live,
  'set-priority': live,
  bury: notRunning,
  resume: ['cancelled'],
} as const satisfies Record<string, readonly JobStatus[]>

/**
 * What a bulk action does to each job. `retry` makes failed jobs due at once and replays dead ones; the others do what the methods of these
 * names do to one job.
 */
export type BulkActionName = keyof typeof bulkActions

/** What is to be done to which jobs. */
export interface BulkRequest {
  action: BulkActionName
  /** Which jobs, as `holdfast.jobs` takes it. Without a status, all that the action can be done to; `all` has to be said for all of them. */
  filter?: JobListFilter & { all?: true }
  /** These jobs instead, at most 10,000. */
  ids?: readonly string[]
  /** The new priority, for `set-priority`. */
  priority?: number
  /** The new time, for `reschedule`: at this moment. */
  runAt?: NewTime['runAt']
  /** The new time, for `reschedule`: this much later than now. */
  delay?: NewTime['delay']
  /** How many jobs a second, at most; otherwise as fast as it goes. */
  pace?: number
  /** The sensitive types that are meant, for `retry`, `replay` and `resume`; their jobs are refused otherwise. */
  confirm?: Confirm
}

const known = ['action', 'filter', 'ids', 'priority', 'runAt', 'delay', 'pace', 'confirm']
const mostIds = 10_000

/** Refuses what is misspelt, before anything is asked of the database. */
export function checkFields(request: BulkRequest): void {
  refuseUnknown(request, known)
}

/** Checks a request whole, and brings it into the form the database takes. `owner`: the service whose jobs alone are touched. */
export function encodeBulk(
  request: BulkRequest,
  owner: string | undefined,
  privacy: Privacy,
  types: readonly TypeRow[],
): Omit<NewBulk, 'estimate' | 'atLeast'> {
  const { action, filter, ids, pace } = request
  if (!Object.hasOwn(bulkActions, action)) {
    const names = Object.keys(bulkActions)
    throw refused('action', `is ${String(action)}${didYouMean(String(action), names)}; there are ${names.join(', ')}`)
  }
  if ((filter === undefined) === (ids === undefined))
    throw refused('filter', 'or ids is needed: say which jobs, by one of the two')
  if (pace !== undefined && !(typeof pace === 'number' && pace >= 0.01 && pace <= 1_000_000)) {
    throw refused('pace', 'must be a number of jobs a second from 0.01 to 1000000')
  }
  return {
    action,
    filter: filter === undefined ? null : JSON.stringify(encodedFilter(action, filter, privacy, types)),
    jobs: ids === undefined ? null : checkedIds(ids),
    settings: JSON.stringify(settingsOf(request)),
    owner: owner ?? null,
    pace: pace ?? null,
  }
}

function encodedFilter(
  action: BulkActionName,
  filter: JobListFilter & { all?: true },
  privacy: Privacy,
  types: readonly TypeRow[],
) {
  const { all, ...asked } = filter
  if (all !== undefined && all !== true) throw refused(['filter', 'all'], 'is true or left out')
  const encoded: ListFilter = encodeListFilter(asked)
  const given = Object.entries(encoded).filter(([, value]) => value !== null)
  if (given.length === 0 && all !== true) {
    throw refused('filter', 'is empty, which would mean every job; say { all: true } if it is meant')
  }
  const statuses: readonly string[] = bulkActions[action]
  if (encoded.status !== null && !statuses.includes(encoded.status)) {
    throw refused(['filter', 'status'], `is ${encoded.status}; ${action} is for jobs that are ${statuses.join(', ')}`)
  }
  const { payload, createdAfter, createdBefore, concurrencyKey, errorGroup, endedAfter, endedBefore, ...rest } = encoded
  if (payload !== null) {
    privacy.refuseToSearch(
      decodePayload(payload),
      types.filter(({ name }) => encoded.type === null || name === encoded.type),
    )
  }
  const stored = {
    ...rest,
    created_after: createdAfter,
    created_before: createdBefore,
    concurrency_key: concurrencyKey,
    error_group: errorGroup,
    ended_after: endedAfter,
    ended_before: endedBefore,
    payload: payload === null ? null : JSON.parse(payload),
    readable: encoded.text === null ? null : privacy.shownWhole(types),
  }
  return Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== null))
}

function checkedIds(ids: readonly string[]): string[] {
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > mostIds) throw refused('ids', `must be 1 to ${mostIds} ids of jobs`)
  const bad = ids.findIndex((id) => !isJobId(id))
  if (bad >= 0) throw refused(['ids', bad], `is ${JSON.stringify(ids[bad])}, which is not a job id`)
  return [...new Set(ids)]
}

function settingsOf({ action, priority, runAt, delay, confirm }: BulkRequest): Record<string, unknown> {
  if (priority !== undefined && action !== 'set-priority') throw refused('priority', 'is for set-priority alone')
  if ((runAt !== undefined || delay !== undefined) && action !== 'reschedule') {
    throw refused(runAt === undefined ? 'delay' : 'runAt', 'is for reschedule alone')
  }
  const confirmable = action === 'retry' || action === 'replay' || action === 'resume'
  if (confirm !== undefined && !confirmable) throw refused('confirm', 'is for retry, replay and resume alone')
  if (action === 'set-priority') return { priority: wholeNumber(priority, 'priority', 0, 9) }
  if (action === 'reschedule') {
    const time = readTime({ runAt, delay } as NewTime)
    return time.runAt === null ? { delay_ms: time.delayMs } : { run_at: time.runAt }
  }
  return confirmable ? { confirmed: readConfirm(confirm) } : {}
}
