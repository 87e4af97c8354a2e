import { anything, jobType, number, text, textOrNull, time, why, yesOrNo } from './common.js'
import { storyFields, tagsAsked } from './jobs.js'
import { answer, list, type Of, object } from './schema.js'

const reason = { enum: ['exhausted', 'fatal', 'poison', 'expired', 'buried'] } as const
const filterFields = {
  type: jobType,
  reason,
  error: {
    type: 'string',
    minLength: 1,
    maxLength: 500,
    description: 'a text in the name or message of the last error',
  },
  died_from: time,
  died_before: time,
  tags: tagsAsked,
  batch: { type: 'string', format: 'uuid', description: 'the id of a batch or an execution that the job is part of' },
} as const

export const dlqQuery = object({
  ...filterFields,
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  cursor: { type: 'string', minLength: 1, maxLength: 200, description: 'what an earlier page named as next' },
})
/** Which dead letters `GET /admin/dlq` lists. */
export type DlqQuery = Of<typeof dlqQuery>

const letter = answer({
  id: text,
  type: text,
  priority: number,
  reason,
  died_at: time,
  attempt: number,
  max_attempts: number,
  created_at: time,
  error: anything,
})
/** A dead letter as `GET /admin/dlq` lists it. */
export type LetterAnswer = Of<typeof letter>
export const lettersAnswer = answer({ letters: list(letter), next: textOrNull })
/** A job that is dead has no result. */
export const letterAnswer = answer({ ...storyFields, reason, died_at: time, error: anything })
/** One dead letter as `GET /admin/dlq/{id}` answers it. */
export type LetterStoryAnswer = Of<typeof letterAnswer>

export const confirm = {
  anyOf: [jobType, { type: 'array', items: jobType, maxItems: 100 }],
  description: 'the name of a sensitive type, or several, whose jobs are meant',
} as const
/** What a resume of a cancelled job or of an execution takes. */
export const resumeBody = object({ confirm, why })
export type ResumeBody = Of<typeof resumeBody>
export const replayBody = object({ payload: { description: 'a new payload in place of the old one, any JSON' }, confirm, why })
/** How one dead letter is replayed. */
export type ReplayBody = Of<typeof replayBody>

export const manyBody = object(
  {
    filter: object(
      { ...filterFields, all: { enum: [true] } },
      [],
      'an object with some of type, reason, error, died_from, died_before, tags and batch, or all',
    ),
    dry_run: { type: 'boolean', default: true, description: 'false to really do it; otherwise it is only counted' },
    at_most: { type: 'integer', minimum: 1, maximum: 1_000_000_000, description: 'no more than so many, the newest first' },
    why,
  },
  ['filter'],
)
/** Which dead letters are discarded, and how many at most. */
export type ManyBody = Of<typeof manyBody>
export const replayManyBody = object({ ...manyBody.properties, confirm }, ['filter'])
/** Which dead letters are replayed, and how many at most. */
export type ReplayManyBody = Of<typeof replayManyBody>
export const manyAnswer = object(
  {
    dry_run: yesOrNo,
    matched: number,
    done: number,
    refused: { type: 'object', additionalProperties: true, description: 'how many were not moved, by the reason' },
    died_before: time,
    waits: { type: 'string', description: 'why replayed jobs do not run yet, where a breaker is open' },
  },
  ['dry_run', 'matched', 'done', 'refused', 'died_before'],
)
/** What became of the dead letters that fit a filter. */
export type ManyAnswer = Of<typeof manyAnswer>
