import { duration, jobType, number, numberOrNull, time } from './common.js'
import { answer, list, type Of, object } from './schema.js'

export const seriesQuery = object({
  from: time,
  to: time,
  step: { ...duration, type: 'string' },
  type: jobType,
  lane: { type: 'string', minLength: 1, maxLength: 63, description: 'the name of a lane' },
})
/** Which time `GET /series` answers about, of what and in which steps. */
export type SeriesQuery = Of<typeof seriesQuery>

const counts = list(number)
const seconds = list(numberOrNull)
const percentiles = answer({ p50: seconds, p95: seconds, p99: seconds })
export const seriesAnswer = answer({
  from: time,
  to: time,
  step_ms: number,
  enqueued: counts,
  completed: counts,
  failed: counts,
  rescued: counts,
  dead: counts,
  expired: counts,
  cancelled: counts,
  waiting: counts,
  scheduled: counts,
  blocked: counts,
  running: counts,
  oldest_s: seconds,
  workers: counts,
  run_s: percentiles,
  wait_s: percentiles,
  priorities: list(answer({ priority: number, waiting: counts, oldest_s: seconds, wait_s: percentiles })),
})
/** What went on, step by step: every list has an entry for each step. */
export type SeriesAnswer = Of<typeof seriesAnswer>
