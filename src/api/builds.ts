import { number, numberOrNull, text, textOrNull, time } from './common.js'
import { answer, list, type Of, object } from './schema.js'

const name = { type: 'string', minLength: 1, maxLength: 100, description: 'the name of a build, such as a commit' } as const
export const buildParams = object({ build: name }, ['build'])
export const canaryQuery = object({ baseline: name })

const drained = { anyOf: [answer({ by: text, why: textOrNull }), { type: 'null' }] } as const
const build = answer({ build: text, first_seen: time, workers: number, completed: number, failed: number, drained })
/** Which code workers run, and whether it was told to drain. */
export type BuildAnswer = Of<typeof build>
export const buildsAnswer = answer({ builds: list(build) })

const says = { enum: ['go', 'wait', 'roll back'] } as const
export const canaryAnswer = answer({
  verdict: says,
  build: text,
  baseline: textOrNull,
  stage: answer({ workers: number, fleet: number, age_ms: number, bake_ms: number, next_workers: numberOrNull }),
  findings: list(answer({ check: text, type: textOrNull, says, because: text })),
})
/** Whether a build may go on to its next stage, and what was looked at. */
export type CanaryAnswer = Of<typeof canaryAnswer>
