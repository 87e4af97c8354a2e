import type { BatchBody, CallbackBody } from '../api/batches.js'
import type { JobBody } from '../api/jobs.js'
import { refuseUnknown } from '../job/refused.js'
import type { JobRequest } from '../job/type.js'
import { jobBody } from './job-body.js'

/** A batch to make over HTTP; see `BatchRequest` of the library. */
export interface ClientBatch {
  /** Its members; any number, also none. */
  jobs?: readonly JobRequest[]
  /** For people to know it by. */
  name?: string
  /** A UUIDv7 of your own, so that the same call made again makes no second batch. */
  id?: string
  /**
   * True: it does not end before `batches.close`.
   * @default false
   */
  open?: boolean
  /** Enqueued when all members completed. */
  onSuccess?: JobRequest
  /** Enqueued when all members have ended and some did not complete, unless somebody cancelled the batch. */
  onFailure?: JobRequest
  /** Enqueued when all members have ended, however that was. */
  onComplete?: JobRequest
}

const known = ['jobs', 'name', 'id', 'open', 'onSuccess', 'onFailure', 'onComplete']

export async function batchBody(request: ClientBatch, id: string, jobs: JobBody[], open: boolean): Promise<BatchBody> {
  refuseUnknown(request, known)
  const callback = async (given: JobRequest | undefined) => given && ((await jobBody(given)) as CallbackBody)
  const [success, failure, complete] = await Promise.all([request.onSuccess, request.onFailure, request.onComplete].map(callback))
  return {
    ...{ id, jobs, open },
    ...(request.name === undefined ? {} : { name: request.name }),
    ...(success && { on_success: success }),
    ...(failure && { on_failure: failure }),
    ...(complete && { on_complete: complete }),
  }
}
