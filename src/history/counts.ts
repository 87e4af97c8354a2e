import { decodePayload } from '../job/payload.js'
import { type JobStatus, statuses } from '../job/state.js'
import type { Privacy } from '../privacy/privacy.js'
import type { ListFilter } from '../store/inspect-store.js'
import type { Store } from '../store/store.js'

/** How many jobs of a status fit. `more`: at least so many, because not all were looked at. */
export interface JobCount {
  count: number
  more: boolean
}

/** How many jobs fit a filter, by status. */
export type JobCounts = Record<JobStatus, JobCount>

/** So many jobs are counted of each status, so many looked at, and so much of their payloads read: as for one page of a list. */
const most = { limit: 1_000, look: 2_000, bytes: 2 * 1024 * 1024 }

/** Counts a status after the other, each as a page of a list is found, so that no count costs more than a list does. */
export async function countJobs(store: Store, privacy: Privacy, filter: ListFilter): Promise<JobCounts> {
  const types =
    filter.payload === null && filter.text === null ? [] : await store.types(filter.type === null ? null : [filter.type])
  if (filter.payload !== null) privacy.refuseToSearch(decodePayload(filter.payload), types)
  const readable = filter.text === null ? [] : privacy.shownWhole(types)
  const counts: Partial<JobCounts> = {}
  for (const status of Object.keys(statuses) as JobStatus[]) {
    if (filter.status !== null && filter.status !== status) {
      counts[status] = { count: 0, more: false }
      continue
    }
    const { jobs, next } = await store.inspect.listJobs({ ...filter, status }, null, { ...most, readable })
    counts[status] = { count: jobs.length, more: next !== null }
  }
  return counts as JobCounts
}
