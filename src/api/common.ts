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
