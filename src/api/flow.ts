import { duration, forATime, number, numberOrNull, paused, text, textOrNull, time, timeOrNull, why } from './common.js'
import { answer, list, type Of, object } from './schema.js'

const orNull = <const One extends object>(one: One) => ({ anyOf: [one, { type: 'null' }] }) as const

// ── how much may wait ──

const scope = { enum: ['queue', 'lane', 'type'] } as const
const jobs = { type: ['integer', 'null'], minimum: 1, maximum: 1_000_000_000_000 } as const
export const depthBody = object(
  {
    scope,
    name: { type: 'string', minLength: 1, maxLength: 200, description: 'the name of the lane or type' },
    soft: jobs,
    hard: jobs,
    oldest: { ...duration, type: ['string', 'number', 'null'] },
    scheduled: jobs,
    retrying: jobs,
    unapproved: jobs,
    blocked: jobs,
    why,
  },
  ['scope'],
)
/** How much may wait in the queue, a lane or a type. */
export type DepthBody = Of<typeof depthBody>
export const depthsAnswer = answer({
  limits: list(
    answer({
      scope,
      name: textOrNull,
      soft: numberOrNull,
      hard: numberOrNull,
      oldest_ms: numberOrNull,
      waiting: number,
      waits_ms: numberOrNull,
      counts: answer({ scheduled: number, retrying: number, unapproved: number, blocked: number }),
      most: answer({ scheduled: numberOrNull, retrying: numberOrNull, unapproved: numberOrNull, blocked: numberOrNull }),
    }),
  ),
})
/** How much may wait, and how much does. */
export type DepthsAnswer = Of<typeof depthsAnswer>

// ── concurrency keys ──

const key = { type: 'string', minLength: 1, maxLength: 500, description: 'a concurrency key' } as const
export const keyBody = object({ key, for: forATime, why }, ['key'])
export type KeyBody = Of<typeof keyBody>
export const weightBody = object({ key, weight: { type: 'number', minimum: 0.001, maximum: 1_000 }, why }, ['key', 'weight'])
export type WeightBody = Of<typeof weightBody>
const keyFields = {
  key: text,
  weight: number,
  paused: orNull(paused),
  rests_until: timeOrNull,
  halted: orNull(answer({ job: text, at: time })),
} as const
export const keyStateAnswer = answer({ type: text, ...keyFields })
/** What was set about one concurrency key of a type. */
export type KeyStateAnswer = Of<typeof keyStateAnswer>
export const keyStatesAnswer = answer({ type: text, keys: list(answer(keyFields)) })
