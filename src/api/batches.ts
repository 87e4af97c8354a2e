import { jobId, number, text, textOrNull, time, timeOrNull, why, yesOrNo } from './common.js'
import { confirm } from './dlq.js'
import { enqueuedAnswer, jobRequest } from './jobs.js'
import { answer, list, type Of, object } from './schema.js'

const members = { type: 'array', items: jobRequest, maxItems: 100 } as const
const { id, run_at, start_by, idempotency_key, unique, ...callbackFields } = jobRequest.properties
const callback = object(callbackFields, ['type', 'payload'], 'a job to enqueue when the batch ends')
/** A callback of a batch, as the body of `POST /batches` has it. */
export type CallbackBody = Of<typeof callback>

export const batchRequest = object({
  id: text,
  name: { type: 'string', minLength: 1, maxLength: 200 },
  jobs: members,
  open: { type: 'boolean', default: false, description: 'true: it does not end before it is closed, so that jobs can be added' },
  on_success: callback,
  on_failure: callback,
  on_complete: callback,
})
/** A batch to make, as the body of `POST /batches`. */
export type BatchBody = Of<typeof batchRequest>

export const addRequest = object({ jobs: { ...members, minItems: 1 } }, ['jobs'])
export const addAnswer = answer({ jobs: list(enqueuedAnswer) })
export const batchId = { ...jobId, description: 'the id of a batch, a UUID of version 7' } as const
export const batchParams = object({ id: batchId }, ['id'])

export const createdBatchAnswer = answer({ id: batchId, status: { enum: ['created', 'existing'] }, jobs: list(enqueuedAnswer) })

export const batchAnswer = answer({
  id: batchId,
  name: textOrNull,
  owner: textOrNull,
  status: { enum: ['running', 'succeeded', 'failed', 'cancelled'] },
  round: number,
  open: yesOrNo,
  total: number,
  live: number,
  completed: number,
  dead: number,
  cancelled: number,
  discarded: number,
  created_at: time,
  finished_at: timeOrNull,
  waits_for: textOrNull,
  cancelled_by: textOrNull,
  cancelled_why: textOrNull,
  callbacks: list(answer({ round: number, kind: { enum: ['success', 'failure', 'complete'] }, job: jobId })),
})
/** One batch as `GET /batches/{id}` answers it. */
export type BatchAnswer = Of<typeof batchAnswer>

export const batchListQuery = object({
  job: { ...jobId, description: 'only the batch that this job is a member or a callback of' },
  status: batchAnswer.properties.status,
  name: { type: 'string', minLength: 1, maxLength: 200, description: 'the whole name of a batch' },
  created_after: time,
  created_before: time,
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  cursor: { type: 'string', format: 'uuid', description: 'what an earlier page named as next' },
})
/** Which batches `GET /batches` lists. */
export type BatchListQuery = Of<typeof batchListQuery>
export const batchListAnswer = answer({ batches: list(batchAnswer), next: textOrNull })

export const closedBatchAnswer = answer({ id: batchId, closed: yesOrNo })
export const cancelledBatchAnswer = answer({ id: batchId, done: yesOrNo, was: text })
export const retryBatchBody = object({ confirm, why })
/** What a retry of a batch takes, as the body of `POST /batches/{id}/retry`. */
export type RetryBatchBody = Of<typeof retryBatchBody>
export const retriedBatchAnswer = answer({
  matched: number,
  done: number,
  refused: { type: 'object', additionalProperties: true, description: 'how many were not replayed, by the reason' },
})
/** What became of the dead members of a batch. */
export type RetriedBatchAnswer = Of<typeof retriedBatchAnswer>
