import { fingerprint, jobType, number, text, textOrNull, time, yesOrNo } from './common.js'
import { answer, list, type Of, object } from './schema.js'

export const errorsQuery = object({
  type: jobType,
  since: { ...time, description: 'a time: only groups with a failure since then, counted from the beginning of its day of UTC' },
  sort: { enum: ['count', 'last'] },
  dead: { type: 'boolean', description: 'true for groups that have dead letters, of the first thousand' },
  limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
})
/** Which error groups `GET /errors` lists. */
export type ErrorsQuery = Of<typeof errorsQuery>

const group = answer({
  fingerprint,
  type: text,
  name: textOrNull,
  message: textOrNull,
  job: textOrNull,
  first_at: time,
  last_at: time,
  count: number,
  days: list(answer({ day: { type: 'string', description: 'a day of UTC, such as 2026-11-18' }, count: number })),
  dead: answer({ count: number, more: yesOrNo }),
})
/** Failures of one type that are the same but for what differs from job to job. */
export type ErrorGroupAnswer = Of<typeof group>

export const errorsAnswer = answer({ groups: list(group) })

export const fingerprintParams = object({ fingerprint }, ['fingerprint'])
export const oneErrorQuery = object({ since: errorsQuery.properties.since })
export type OneErrorQuery = Of<typeof oneErrorQuery>
export const errorAnswer = answer({ fingerprint, count: number, groups: list(group) })
/** One error group as `GET /errors/{fingerprint}` answers it: a part for each type that has it. */
export type ErrorAnswer = Of<typeof errorAnswer>
