import { eventKinds } from '../job/event.js'
import { jobId, jobType, number, text, textOrNull, time, yesOrNo } from './common.js'
import { tagsAsked } from './jobs.js'
import { answer, list, type Of, object } from './schema.js'

export const eventQuery = object({
  after: {
    type: 'string',
    minLength: 1,
    maxLength: 50,
    description: 'the cursor of an event, the next of a page, or now; without it, from the first event that is kept',
  },
  type: jobType,
  kind: { enum: eventKinds },
  tags: tagsAsked,
  limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
})
/** Which events `GET /events` answers with. */
export type EventQuery = Of<typeof eventQuery>

const event = object(
  {
    ...{ kind: { enum: eventKinds }, cursor: text, job: jobId, type: text, tags: list(text), owner: textOrNull, at: time },
    attempt: number,
    error: { anyOf: [answer({ name: textOrNull, message: textOrNull }), { type: 'null' }] },
    reason: textOrNull,
  },
  ['kind', 'cursor', 'job', 'type', 'tags', 'owner', 'at', 'attempt'],
)
/** An event as `GET /events` answers it; `error` and `reason` where its kind has them. */
export type EventAnswer = Of<typeof event>

export const eventsAnswer = answer({ events: list(event), next: text, more: yesOrNo })
