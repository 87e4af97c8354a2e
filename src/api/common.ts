import { statuses } from '../job/state.js'
import { answer, list, type Of, object } from './schema.js'

export const statusNames = Object.keys(statuses) as (keyof typeof statuses)[]

export const text = { type: 'string' } as const
/** An answer that is no JSON. */
export const plainText = { type: 'string', contentMediaType: 'text/plain' } as const
export const textOrNull = { type: ['string', 'null'] } as const
export const number = { type: 'number' } as const
export const numberOrNull = { type: ['number', 'null'] } as const
export const yesOrNo = { type: 'boolean' } as const
export const time = { type: 'string', format: 'date-time' } as const
export const timeOrNull = { type: ['string', 'null'], format: 'date-time' } as const
export const anything = {} as const
/** A JSON Schema, to store. */
export const jsonSchema = { type: 'object', description: 'the JSON Schema of its payloads; at most 65,536 bytes' } as const
export const duration = {
  type: ['string', 'number'],
  maxLength: 100,
  description: 'a number of milliseconds or a text such as "200ms", "30s", "5m", "1h30m" or "3 days"',
} as const
export const why = { type: 'string', maxLength: 500, description: 'the reason, which is kept where people see it' } as const
export const jobType = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  description: 'the name of a job type',
} as const

export const jobId = { type: 'string', format: 'uuid', description: 'the id of a job, a UUID of version 7' } as const
/** Which failures are the same. */
export const fingerprint = {
  type: 'string',
  pattern: '^[0-9a-f]{16}$',
  description: 'the fingerprint of an error group, 16 hexadecimal digits',
} as const
export const jobParams = object({ id: jobId }, ['id'])
export const typeParams = object({ type: jobType }, ['type'])
export const whyBody = object({ why })

/** What became of a job that somebody wanted to move. */
export const movedAnswer = object(
  { id: jobId, done: yesOrNo, was: { enum: statusNames }, status: { enum: statusNames }, because: text, waits: text },
  ['id', 'done', 'was', 'status'],
)
/** What became of a job that somebody wanted to move. */
export type MovedAnswer = Of<typeof movedAnswer>

export const problemAnswer = object(
  {
    ...{ type: text, code: text, title: text, status: { type: 'integer' }, detail: text, field: text, job_id: text },
    errors: list(answer({ field: text, detail: text })),
  },
  ['type', 'code', 'title', 'status', 'detail'],
  'What a request that failed is answered with (RFC 9457)',
)

export const done = answer({ by: text, why: textOrNull, at: time })
/** A pause, and when it is over; null: when somebody resumes it. */
export const paused = answer({ by: text, why: textOrNull, at: time, until: timeOrNull })
export const forATime = {
  ...duration,
  description: 'after this time it is over, such as "30m"; without it, somebody has to take it back',
} as const
export const pauseBody = object({ for: forATime, why })
/** A pause, for a time or until it is taken back. */
export type PauseBody = Of<typeof pauseBody>
/** What an operator says of one field, and what the code says of it. */
export const overrides = list(answer({ field: text, value: anything, by: text, until: timeOrNull, code: anything }))
export const releaseBody = object({
  fields: { type: 'array', items: text, minItems: 1, maxItems: 50, description: 'only these; without it all of them' },
  why,
})
/** What is given back to the code. */
export type ReleaseBody = Of<typeof releaseBody>
