import { duration, jobId, number, numberOrNull, text, textOrNull, time, timeOrNull, why, yesOrNo } from './common.js'
import { confirm } from './dlq.js'
import { listQuery } from './jobs.js'
import { answer, list, type Of, object } from './schema.js'

const { limit: _limit, cursor: _cursor, payload: _payload, ...filterFields } = listQuery.properties
const action = {
  enum: ['cancel', 'retry', 'replay', 'discard', 'run-now', 'reschedule', 'set-priority', 'bury', 'resume'],
} as const

export const bulkBody = object(
  {
    action,
    filter: object(
      { ...filterFields, payload: { description: 'JSON that the payload holds, such as {"tenant": 7}' }, all: { enum: [true] } },
      [],
      'an object with fields that GET /jobs filters by, or all',
    ),
    ids: { type: 'array', items: jobId, minItems: 1, maxItems: 10_000, description: 'a list of 1 to 10000 ids of jobs' },
    priority: { type: 'integer', minimum: 0, maximum: 9 },
    run_at: time,
    delay: duration,
    pace: { type: 'number', minimum: 0.01, maximum: 1_000_000, description: 'how many jobs a second at most' },
    confirm,
    dry_run: { type: 'boolean', default: false, description: 'true to count the jobs and change nothing' },
    why,
  },
  ['action'],
)
/** What is to be done to which jobs, as the body of `POST /bulk`. */
export type BulkBody = Of<typeof bulkBody>

export const bulkEstimate = answer({ dry_run: { enum: [true] }, estimate: number, more: yesOrNo })
/** How many jobs a bulk action would mean. */
export type BulkEstimateAnswer = Of<typeof bulkEstimate>

const free = { type: 'object', additionalProperties: true } as const
export const bulkAnswer = answer({
  id: { ...jobId, description: 'also the id of the job that carries it out' },
  action,
  filter: { anyOf: [free, { type: 'null' }], description: 'null for a list of ids' },
  settings: free,
  owner: textOrNull,
  by: text,
  why: textOrNull,
  pace: numberOrNull,
  status: { enum: ['waiting', 'running', 'completed', 'aborted', 'failed'] },
  estimate: number,
  more: yesOrNo,
  matched: number,
  done: number,
  refused: { ...free, description: 'how many jobs were not changed, by the reason' },
  created_at: time,
  started_at: timeOrNull,
  ended_at: timeOrNull,
  aborted_by: textOrNull,
  aborted_why: textOrNull,
})
/** One bulk action as `GET /bulk/{id}` answers it. */
export type BulkAnswer = Of<typeof bulkAnswer>

export const bulkListQuery = object({
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  cursor: { type: 'string', format: 'uuid', description: 'what an earlier page named as next' },
})
/** Which bulk actions `GET /bulk` lists. */
export type BulkListQuery = Of<typeof bulkListQuery>
export const bulkListAnswer = answer({ actions: list(bulkAnswer), next: textOrNull })
