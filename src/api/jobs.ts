import { eventKinds } from '../job/event.js'
import {
  anything,
  duration,
  fingerprint,
  jobId,
  jobType,
  number,
  numberOrNull,
  statusNames,
  text,
  textOrNull,
  time,
  timeOrNull,
  why,
  yesOrNo,
} from './common.js'
import { answer, list, type Of, object } from './schema.js'

const key = { type: 'string', minLength: 1, maxLength: 500, description: 'a text of 1 to 500 characters without NUL' } as const

export const approval = {
  anyOf: [
    { enum: [true] },
    object({
      quorum: { type: 'integer', minimum: 1, maximum: 100 },
      deadline: duration,
      on_deadline: { enum: ['cancel', 'approve'] },
    }),
  ],
  description: 'true or an object with quorum, deadline and on_deadline',
} as const

export const unique = {
  anyOf: [
    { enum: [false] },
    object({
      key,
      by: { anyOf: [{ enum: ['payload'] }, { type: 'array', items: text, minItems: 1, maxItems: 100 }] },
      period: duration,
      states: list({ enum: statusNames }),
      on_conflict: { enum: ['reject', 'existing', 'replace', 'debounce', 'one_more'] },
      delay: duration,
      max_wait: duration,
    }),
  ],
  description: 'false or an object with key or by, and period, states, on_conflict, delay, max_wait',
} as const

const tag = { type: 'string', minLength: 1, maxLength: 100, description: 'a text of 1 to 100 characters' } as const
/** Tags of a filter; in a query, one parameter for each. */
export const tagsAsked = {
  type: 'array',
  minItems: 1,
  maxItems: 8,
  items: tag,
  description: 'tags that the job has, all of them',
} as const

// Its address and secrets are checked by the library, which shows no secret in its answer.
const webhook = object(
  {
    url: text,
    on: list({ enum: eventKinds }),
    secret: { description: 'whsec_ and at least 24 random bytes in base64, or a list of two of them' },
  },
  ['url', 'secret'],
  'where signed requests go about what happens to the job',
)

/** One job to enqueue. */
export const jobRequest = object(
  {
    type: jobType,
    payload: { description: 'any JSON; a job without data has the payload {}' },
    // Checked by the library, whose words send people who look for a key of their own the right way.
    id: text,
    version: { type: 'integer', minimum: 1, maximum: 32_767, description: 'the version of the payload' },
    priority: { type: 'integer', minimum: 0, maximum: 9 },
    max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
    delay: duration,
    run_at: time,
    start_by: time,
    expire_in: duration,
    idempotency_key: key,
    concurrency_key: key,
    approval,
    unique,
    tags: { type: 'array', maxItems: 8, items: tag, description: 'a list of at most 8 texts' },
    webhook,
    traceparent: {
      type: 'string',
      maxLength: 100,
      description: 'the W3C traceparent of the span that asks; standard: the header',
    },
  },
  ['type', 'payload'],
)
/** One job to enqueue, as the body of `POST /jobs`. */
export type JobBody = Of<typeof jobRequest>

export const bulkRequest = object(
  {
    jobs: { type: 'array', items: jobRequest, minItems: 1, maxItems: 100 },
    pace: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 100_000,
      description: 'how many jobs become due each second, of these and of all other paced calls of their types',
    },
  },
  ['jobs'],
)

export const enqueuedAnswer = answer({
  id: jobId,
  status: { enum: ['created', 'existing', 'replaced', 'debounced', 'queued_behind'] },
})
export const bulkAnswer = answer({ jobs: list(enqueuedAnswer) })

const summaryFields = {
  id: jobId,
  type: text,
  status: { enum: statusNames },
  lane: text,
  priority: number,
  attempt: number,
  max_attempts: number,
  payload: anything,
  idempotency_key: textOrNull,
  concurrency_key: textOrNull,
  tags: list(text),
  owner: textOrNull,
  created_at: time,
  due_at: timeOrNull,
  started_at: timeOrNull,
  finished_at: timeOrNull,
} as const

/** A job as it stands, without what happened to it. */
export const jobSummary = answer(summaryFields)
/** A job as `GET /jobs` lists it. */
export type JobSummaryAnswer = Of<typeof jobSummary>

const attempt = answer({
  attempt: number,
  outcome: text,
  started_at: timeOrNull,
  ended_at: time,
  worker: textOrNull,
  build: textOrNull,
  error: anything,
})
const orNull = <const One extends object>(one: One) => ({ anyOf: [one, { type: 'null' }] }) as const

const step = object({ name: text, kind: text, state: text, result: anything, attempt: number, at: time, until: timeOrNull }, [
  'name',
  'kind',
  'state',
  'attempt',
  'at',
  'until',
])

export const storyFields = {
  ...summaryFields,
  version: { ...number, description: 'of the payload' },
  timeout_ms: number,
  sensitive: yesOrNo,
  traceparent: textOrNull,
  start_by: timeOrNull,
  batch_id: textOrNull,
  execution_id: textOrNull,
  task: { ...textOrNull, description: 'which task of the execution' },
  item: { ...numberOrNull, description: 'which item of the task' },
  schedule: textOrNull,
  scheduled_for: timeOrNull,
  error_group: { ...textOrNull, description: 'the fingerprint of its last failure' },
  attempts: list(attempt),
  progress: orNull(answer({ attempt: number, fraction: number, note: textOrNull, at: time })),
  changes: list(answer({ move: text, by: text, why: textOrNull, before: anything, after: anything, at: time })),
  approval: orNull(
    answer({
      quorum: number,
      revision: { ...number, description: 'of the payload: what a verdict is about' },
      deadline: timeOrNull,
      on_deadline: text,
      verdicts: list(answer({ by: text, verdict: text, why: textOrNull, at: time })),
    }),
  ),
  steps: list(step),
  signals: list(answer({ name: text, payload: anything, by: text, at: time, delivered: yesOrNo })),
} as const

/** One job with everything that happened to it; `result` where its handler returned something. */
export const jobAnswer = object({ ...storyFields, result: anything }, Object.keys(storyFields) as (keyof typeof storyFields)[])
/** One job as `GET /jobs/{id}` answers it. */
export type JobAnswer = Of<typeof jobAnswer>

export const signalBody = object(
  {
    name: { type: 'string', minLength: 1, maxLength: 200, description: 'the name that the handler waits for' },
    payload: anything,
  },
  ['name'],
)
export type SignalBody = Of<typeof signalBody>
export const signalAnswer = answer({ id: jobId, signal: text })

export const listQuery = object({
  type: jobType,
  status: { enum: statusNames },
  lane: { type: 'string', minLength: 1, maxLength: 200, description: 'the name of a lane' },
  concurrency_key: key,
  owner: { type: 'string', minLength: 1, maxLength: 100, description: 'the name of a service' },
  tags: tagsAsked,
  created_after: time,
  created_before: time,
  payload: { type: 'string', maxLength: 8_000, description: 'JSON that the payload holds, such as {"tenant":7}' },
  text: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description: 'a text in the keys, tags, last error or payload of the job; capitals do not matter',
  },
  error_group: fingerprint,
  batch: { type: 'string', format: 'uuid', description: 'the id of a batch or an execution that the job is part of' },
  ended_after: time,
  ended_before: time,
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  cursor: { type: 'string', format: 'uuid', description: 'what an earlier page named as next' },
})
/** Which jobs `GET /jobs` lists. */
export type ListQuery = Of<typeof listQuery>

const { limit: _limit, cursor: _cursor, status: _status, ...counted } = listQuery.properties
export const countsQuery = object(counted)
/** Which jobs `GET /jobs/counts` counts. */
export type CountsQuery = Of<typeof countsQuery>
const count = answer({ count: number, more: yesOrNo })
export const countsAnswer = answer(
  Object.fromEntries(statusNames.map((name) => [name, count])) as Record<(typeof statusNames)[number], typeof count>,
)
/** How many jobs fit, by status, as `GET /jobs/counts` answers. */
export type CountsAnswer = Of<typeof countsAnswer>

export const listAnswer = answer({
  jobs: list(jobSummary),
  next: textOrNull,
  looked_back_to: { ...timeOrNull, description: 'how far back this page looked; null if there is nothing older' },
})
/** One page of jobs as `GET /jobs` answers it. */
export type ListAnswer = Of<typeof listAnswer>

export const explainAnswer = answer({
  id: jobId,
  type: text,
  status: text,
  gates: list(
    object({ gate: text, why: text, opens: text, opens_in_ms: numberOrNull, held_by: list(text) }, [
      'gate',
      'why',
      'opens',
      'opens_in_ms',
      'held_by',
    ]),
  ),
})
/** Why a job is not running now. */
export type ExplainAnswer = Of<typeof explainAnswer>

export const logQuery = object({
  after: { type: 'string', pattern: '^[0-9]{1,18}$', description: 'the id of a log line' },
  limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 1_000 },
})
/** Which lines of a job's log are asked for. */
export type LogQuery = Of<typeof logQuery>
export const logAnswer = answer({
  lines: list(answer({ id: text, attempt: number, at: time, level: { enum: ['info', 'warn', 'error'] }, line: text })),
})
/** What a job's handler logged, first to last. */
export type LogAnswer = Of<typeof logAnswer>

export const waitQuery = object({
  timeout: { type: 'string', maxLength: 20, default: '30s', description: 'how long to wait, such as 30s; at most 60s' },
})
export const whyQuery = object({ why })
export const deleteQuery = object({
  why,
  forget: { type: 'boolean', default: false, description: 'true to delete a job that has ended, with all that is kept of it' },
})
export type DeleteQuery = Of<typeof deleteQuery>
export const rescheduleBody = object({ run_at: time, delay: duration, why })
/** The new time of a job: `run_at`, or `delay` from now. */
export type RescheduleBody = Of<typeof rescheduleBody>
