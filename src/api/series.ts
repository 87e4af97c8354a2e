import { duration, jobType, number, numberOrNull, text, time } from './common.js'
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

export const typeSeriesQuery = object({
  last: { ...duration, type: 'string', default: '15m', description: 'the time that ends now, 1m to 1d' },
})
/** Which time `GET /series/types` sums up. */
export type TypeSeriesQuery = Of<typeof typeSeriesQuery>

const counts = list(number)
const seconds = list(numberOrNull)
const middleAndMost = answer({ p50: numberOrNull, p95: numberOrNull })
export const typeSeriesAnswer = answer({
  from: time,
  to: time,
  step_ms: number,
  types: list(
    answer({
      ...{ type: text, lane: text, waiting: number, scheduled: number, blocked: number, running: number, oldest_s: numberOrNull },
      ...{ enqueued_per_s: number, ended_per_s: number, failed_share: numberOrNull, run_s: middleAndMost, wait_s: middleAndMost },
      ...{ confirmed: number, refuted: number, true_success_share: numberOrNull },
      ...{ enqueued: counts, ended: counts, failed: counts },
      ...{ run_total_s: number, run_p95_s: seconds, wait_p95_s: seconds },
    }),
  ),
})
/** What went on in every type: figures of the whole time, and points of it. */
export type TypeSeriesAnswer = Of<typeof typeSeriesAnswer>

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
  wanted: counts,
  run_s: percentiles,
  run_total_s: counts,
  wait_s: percentiles,
  priorities: list(answer({ priority: number, waiting: counts, oldest_s: seconds, wait_s: percentiles })),
})
/** What went on, step by step: every list has an entry for each step. */
export type SeriesAnswer = Of<typeof seriesAnswer>
