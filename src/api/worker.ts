import {
  anything,
  duration,
  jobId,
  jobType,
  jsonSchema,
  number,
  numberOrNull,
  statusNames,
  text,
  textOrNull,
  time,
  yesOrNo,
} from './common.js'
import { answer, list, type Of, object } from './schema.js'

/** What the worker endpoints take and answer. docs/worker-protocol.md says how they are used. */

const short = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength }) as const
const upTo = (maxLength: number) => ({ type: 'string', maxLength }) as const
const token = { ...short(200), description: 'the token /worker/register answered with' } as const
const lease = { type: 'string', pattern: '^[0-9]{1,18}$', description: 'the lease of a claimed job' } as const
const leases = { type: 'array', maxItems: 10_000, items: lease } as const
const attempt = { job: jobId, lease } as const

const definition = object(
  {
    type: jobType,
    lane: short(63),
    priority: { type: 'integer', minimum: 0, maximum: 9 },
    max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
    timeout: duration,
    max_result_bytes: {
      type: 'integer',
      minimum: 0,
      maximum: 1_048_576,
      description: 'most bytes of a result that are kept; 0: none is',
    },
    sensitive: { type: 'boolean', description: 'true where replaying a dead job of it has to be confirmed' },
    payload_schema: jsonSchema,
    uses: { type: 'array', maxItems: 20, items: short(200), description: 'the dependencies that its handler calls' },
    backoff: object({ base: duration, factor: { type: 'number', minimum: 1, maximum: 1_000 }, cap: duration, jitter: duration }),
  },
  ['type'],
)
export type Definition = Of<typeof definition>

export const registerBody = object(
  {
    name: { ...short(200), description: 'a name people will know the worker by' },
    types: { type: 'array', minItems: 1, maxItems: 1_000, items: { anyOf: [jobType, definition] } },
    host: short(200),
    pid: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
    version: short(100),
    build: { ...short(100), description: 'the name of the code that it runs, such as a commit' },
    payload_versions: {
      type: 'object',
      additionalProperties: { type: 'integer', minimum: 1, maximum: 32_767 },
      description:
        'the newest version of payloads that it knows, by type; it is given no newer ones. Of a type left out: every job',
    },
  },
  ['name', 'types'],
)
export type RegisterBody = Of<typeof registerBody>
export const registerAnswer = answer({ worker: text, id: number, types: list(text) })

const line = { ...upTo(16_000), description: 'a line of the log' } as const
const report = object(
  {
    ...attempt,
    progress: { type: 'number', minimum: 0, maximum: 1 },
    note: upTo(4_000),
    lines: {
      type: 'array',
      maxItems: 1_000,
      items: { anyOf: [line, object({ line, level: { enum: ['info', 'warn', 'error'] } }, ['line'])] },
    },
    checkpoint: anything,
  },
  ['job', 'lease'],
)
export type Report = Of<typeof report>
const allReports = { type: 'array', maxItems: 100, items: report } as const

const result = object(
  {
    ...attempt,
    result: { enum: ['complete', 'fail', 'snooze', 'block', 'hand_back'] },
    returned: { description: 'any JSON that the handler returned; kept with the job' },
    ran_ms: { type: 'number', minimum: 0, maximum: 1e12 },
    error: object({ name: upTo(2_000), message: upTo(100_000), stack: upTo(100_000), code: upTo(2_000) }, ['message']),
    fatal: yesOrNo,
    timed_out: yesOrNo,
    retry_after: duration,
    delay: duration,
    stop: { enum: ['type', 'key'] },
  },
  ['job', 'lease', 'result'],
)
export type Result = Of<typeof result>

/** Answers that may bring an order: claim no more, finish what you have. */
const orders = { drain: { anyOf: [answer({ why: textOrNull }), { type: 'null' }] } } as const

/** What a worker says of its process, for people; left out: what it said before. */
const vitals = object({
  lag_ms: {
    type: 'integer',
    minimum: 0,
    maximum: 2_147_483_647,
    description: 'how late its event loop was at most since it last said so',
  },
  memory_bytes: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'the memory that its process holds',
  },
  connections: { type: 'integer', minimum: 0, maximum: 1_000_000, description: 'how many connections to a database it has open' },
})
export type VitalsBody = Of<typeof vitals>

export const claimBody = object(
  {
    worker: token,
    vitals,
    types: { type: 'array', minItems: 1, maxItems: 1_000, items: jobType },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 1 },
    lease: duration,
    wait: duration,
    holding: leases,
  },
  ['worker'],
)
export type ClaimBody = Of<typeof claimBody>
const claimed = {
  id: jobId,
  lease: text,
  lease_ms: number,
  type: text,
  timeout_ms: number,
  priority: number,
  attempt: number,
  max_attempts: number,
  created_at: time,
  payload: anything,
  version: number,
} as const
export const claimAnswer = answer({
  jobs: list(
    object(
      {
        ...claimed,
        ...{ checkpoint: anything, traceparent: text, scheduled_for: time },
        waits: { ...yesOrNo, description: 'true where it stands in a sleep or in the wait for a signal' },
      },
      Object.keys(claimed) as (keyof typeof claimed)[],
    ),
  ),
  ...orders,
})

export const heartbeatBody = object({ worker: token, leases, lease: duration, reports: allReports, vitals }, ['worker', 'leases'])
export type HeartbeatBody = Of<typeof heartbeatBody>
export const heartbeatAnswer = answer({ lost: list(text), cancelled: list(text), unrecorded: list(text), ...orders })

const step = {
  name: text,
  kind: { enum: ['step', 'once', 'sleep', 'signal'] },
  state: { enum: ['waiting', 'completed'] },
} as const
const stepAnswerFields = {
  ...step,
  result: anything,
  left_ms: { type: 'number', description: 'how long it still waits' },
} as const
const oneStep = object(stepAnswerFields, Object.keys(step) as (keyof typeof step)[])
/** With its position among the others, for workers that check the order themselves. */
const storedStep = object({ ...stepAnswerFields, position: number, after: numberOrNull, done: numberOrNull }, [
  ...(Object.keys(step) as (keyof typeof step)[]),
  'position',
  'after',
  'done',
])

export const stepsBody = object({ worker: token, ...attempt }, ['worker', 'job', 'lease'])
export type StepsBody = Of<typeof stepsBody>
export const stepsAnswer = answer({ steps: list(storedStep) })

export const stepBody = object(
  {
    worker: token,
    ...attempt,
    name: { ...short(210), description: 'its name; of the second of one name, the name and #2' },
    kind: step.kind,
    after: {
      type: 'integer',
      minimum: 0,
      maximum: 1_000_000,
      description: 'how many steps this attempt has completed before it',
    },
    done: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      description: 'how many it has completed with it, from a worker that checks the order itself, also of branches side by side',
    },
    result: { description: 'any JSON that a step returned, at most 64 KB' },
    duration: { ...duration, description: 'how long a sleep lasts, or the wait for a signal at most' },
  },
  ['worker', 'job', 'lease', 'name', 'kind'],
)
export type StepBody = Of<typeof stepBody>
export const stepAnswer = oneStep

export const settleBody = object(
  { worker: token, results: { type: 'array', minItems: 1, maxItems: 100, items: result }, reports: allReports },
  ['worker', 'results'],
)
export type SettleBody = Of<typeof settleBody>
/** The result that stands where another one came too late. */
const stands = answer({ outcome: text, attempt: number, ended_at: time })
export const settleAnswer = answer({
  results: list(
    object(
      {
        ...{ job: jobId, settled: yesOrNo, already: yesOrNo, code: text, stands },
        status: { enum: statusNames, description: 'what the job is after this attempt' },
        due_in_ms: { ...numberOrNull, description: 'in how long it is due again, if by the clock' },
      },
      ['job', 'settled'],
    ),
  ),
  ...orders,
})

export const taskBody = object({ worker: token, ...attempt }, ['worker', 'job', 'lease'])
export type TaskBody = Of<typeof taskBody>
export const taskAnswer = answer({
  execution: answer({
    id: jobId,
    workflow: text,
    task: text,
    item: { type: ['number', 'null'], description: 'which item of a task with each it is' },
    input: anything,
  }),
  parents: {
    type: 'object',
    additionalProperties: true,
    description: 'what each parent returned, by its name; null where it did not complete or returned nothing',
  },
})

export const signOffBody = object({ worker: token }, ['worker'])
export const signOffAnswer = answer({ handed_back: number })
