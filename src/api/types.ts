import { gate } from './admin.js'
import {
  anything,
  duration,
  jobId,
  jsonSchema,
  number,
  numberOrNull,
  overrides,
  text,
  textOrNull,
  time,
  why,
  yesOrNo,
} from './common.js'
import { approval, unique } from './jobs.js'
import { answer, list, type Of, object } from './schema.js'

const orNull = <const One extends object>(one: One) => ({ anyOf: [one, { type: 'null' }] }) as const
const name = { type: 'string', minLength: 1, maxLength: 200 } as const

/** What can be stored about a type without its worker. */
export const typeBody = object({
  lane: { ...name, description: 'the name of a lane' },
  priority: { type: 'integer', minimum: 0, maximum: 9 },
  max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
  timeout: duration,
  backoff: orNull(
    object({ base: duration, factor: { type: 'number', minimum: 1, maximum: 1_000 }, cap: duration, jitter: duration }),
  ),
  approval: orNull(approval),
  unique: orNull(unique),
  sensitive: { type: 'boolean', description: 'true where replaying a dead job of it has to be confirmed' },
  alert_expired: yesOrNo,
  shared_keys: yesOrNo,
  encrypt: yesOrNo,
  redact: { type: 'array', items: text, maxItems: 100, description: 'paths of the payload that people do not see' },
  searchable: { type: 'array', items: text, maxItems: 8, description: 'paths of the payload whose values are found by index' },
  payload_schema: { anyOf: [jsonSchema, { type: 'null' }] },
  keep_result: yesOrNo,
  max_result_bytes: { type: 'integer', minimum: 1, maximum: 1_048_576 },
  on_dead: { ...textOrNull, description: 'the type of which a job is enqueued for each that died' },
  why,
})
/** A type to define, or what to change about one; what is left out has its default, or stays. */
export type TypeBody = Of<typeof typeBody>

export const moveTypeBody = object({ lane: { ...name, description: 'the name of a lane' }, why }, ['lane'])
/** The lane a type is moved to. */
export type MoveTypeBody = Of<typeof moveTypeBody>

export const typeAnswer = answer({
  type: text,
  lane: text,
  priority: number,
  max_attempts: number,
  timeout_ms: number,
  backoff: anything,
  approval: anything,
  unique: anything,
  sensitive: yesOrNo,
  encrypt: yesOrNo,
  redact: list(text),
  searchable: list(text),
  payload_schema: anything,
  shared_keys: yesOrNo,
  max_result_bytes: number,
  alert_expired: yesOrNo,
  on_dead: textOrNull,
  version: number,
  overrides,
  registered_at: time,
  gate: orNull(gate),
})
/** Everything that is stored about a job type. */
export type TypeAnswer = Of<typeof typeAnswer>
export const movedTypeAnswer = answer({ type: text, lane: text, moved: number })
/** A type in its new lane, and how many waiting jobs went along. */
export type MovedTypeAnswer = Of<typeof movedTypeAnswer>

export const slotsQuery = object({ limit: { type: 'integer', minimum: 1, maximum: 10_000, default: 1_000 } })
export const slotsAnswer = answer({
  lane: text,
  limit: numberOrNull,
  slots: list(
    answer({
      job: jobId,
      type: text,
      attempt: numberOrNull,
      worker: textOrNull,
      worker_id: number,
      stopping: yesOrNo,
      since: time,
      lease_until: time,
    }),
  ),
})
/** The jobs that take slots of a lane; `limit` is how many slots it has. */
export type SlotsAnswer = Of<typeof slotsAnswer>
