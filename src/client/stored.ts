import type { JobBody } from '../api/jobs.js'
import { newJobId } from '../job/id.js'
import type { JobRequest } from '../job/type.js'
import { jobBody } from './job-body.js'

/** A job that stands in the queue, and what the enqueue did; see `Enqueued` of the library. */
export interface ClientEnqueued {
  id: string
  status: 'created' | 'existing' | 'replaced' | 'debounced' | 'queued_behind'
}

/** A job with the id that it is sent with. `brought`: the caller chose it. */
export interface Addressed {
  body: JobBody & { id: string }
  brought: boolean
}

/** Gives a job its id before it is sent, so that it can be sent again and is stored once. */
export async function addressed(request: JobRequest): Promise<Addressed> {
  const body = await jobBody(request)
  return { body: { ...body, id: body.id ?? newJobId() }, brought: body.id !== undefined }
}

/** A job found under an id that was made for this very call is the one an earlier try of it stored. */
export function stored(enqueued: ClientEnqueued, { body, brought }: Addressed, sent: number): ClientEnqueued {
  const own = sent > 1 && !brought && enqueued.status === 'existing' && enqueued.id === body.id
  return own ? { ...enqueued, status: 'created' } : enqueued
}
