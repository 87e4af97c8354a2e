import type { PayloadEncryption } from '../enqueue/encrypt.js'
import { prepareAll } from '../enqueue/prepare.js'
import { HoldfastError } from '../errors.js'
import { refused } from '../job/refused.js'
import type { JobRequest } from '../job/type.js'
import { isEncrypted } from '../privacy/keyring.js'
import type { NewJob } from '../store/store.js'
import type { CallerTransaction } from '../store/transaction.js'

/** The jobs that the end of a batch enqueues, each at most once in a round. */
export interface BatchCallbacks {
  /** All members completed. */
  onSuccess?: JobRequest
  /** All members have ended, some of them dead, cancelled or discarded, and nobody cancelled the batch. */
  onFailure?: JobRequest
  /** All members have ended, however that was. */
  onComplete?: JobRequest
}

export const callbackNames = ['onSuccess', 'onFailure', 'onComplete'] as const
const kinds = { onSuccess: 'success', onFailure: 'failure', onComplete: 'complete' } as const
/** A callback is one job for each round: it has no id or key before that, and no time of its own. */
const ofOneJob = ['id', 'idempotencyKey', 'unique', 'runAt', 'startBy'] as const

export function callbacksIn(given: BatchCallbacks): JobRequest[] {
  return callbackNames.flatMap((name) => given[name] ?? [])
}

/** Checks the callbacks like any other jobs and brings them into the form in which finish_batch enqueues them. */
export async function encodeCallbacks(
  given: BatchCallbacks,
  encryption: PayloadEncryption,
  tx: CallerTransaction | undefined,
): Promise<string> {
  const encoded: Record<string, object> = {}
  for (const name of callbackNames) {
    const request = given[name]
    if (request === undefined) continue
    if (typeof request !== 'object' || request === null) throw refused(name, 'must be a job, as type.job(payload) makes it')
    const wrong = ofOneJob.find((option) => request[option] !== undefined)
    if (wrong) throw refused([name, wrong], 'cannot be given: each round of the batch has a callback of its own')
    const [job] = await at(name, async () => prepareAll([request]))
    await encryption.encrypt([request], [job as NewJob], tx)
    if (isEncrypted((job as NewJob).payload)) {
      throw refused(
        name,
        `is of ${(job as NewJob).type}, whose payloads are encrypted for one job, and a callback is stored before its job`,
      )
    }
    encoded[kinds[name]] = stored(job as NewJob)
  }
  return JSON.stringify(encoded)
}

/** An error of preparing names the field of the job; here it is a field of the callback. */
async function at<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.issues.length === 0) throw error
    const issues = error.issues.map((issue) => ({ ...issue, path: [name, ...issue.path] }))
    throw new HoldfastError(error.code, `${name}: ${error.message}`, { issues, cause: error })
  }
}

function stored(job: NewJob): object {
  return {
    type: job.type,
    payload: job.payload,
    ...(job.priority === null ? {} : { priority: job.priority }),
    ...(job.maxAttempts === null ? {} : { max_attempts: job.maxAttempts }),
    ...(job.delayMs === null ? {} : { delay_ms: job.delayMs }),
    ...(job.expireInMs === null ? {} : { expire_in_ms: job.expireInMs }),
    ...(job.concurrencyKey === null ? {} : { concurrency_key: job.concurrencyKey }),
    ...(job.approval === null ? {} : { approval: JSON.parse(job.approval) }),
    ...(job.tags === null ? {} : { tags: job.tags }),
    ...(job.webhook === null ? {} : { webhook: job.webhook }),
    ...(job.traceparent === null ? {} : { traceparent: job.traceparent }),
  }
}
