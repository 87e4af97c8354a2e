import type { SeriesAnswer, SeriesQuery, TypeSeriesAnswer } from '../../api/series.js'
import type { Series, SeriesQuestion } from '../../history/series.js'
import type { TypeSeries } from '../../history/type-series.js'

/** The query of a request as the library asks. */
export function seriesQuestion({ from, to, ...rest }: SeriesQuery): SeriesQuestion {
  return {
    ...rest,
    ...(from !== undefined && { from: new Date(from) }),
    ...(to !== undefined && { to: new Date(to) }),
  }
}

/** What went on, in the words of the API. */
export function seriesAnswer({
  from,
  to,
  stepMs,
  oldestSeconds,
  run,
  runSeconds,
  wait,
  priorities,
  ...columns
}: Series): SeriesAnswer {
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    step_ms: stepMs,
    ...columns,
    oldest_s: oldestSeconds,
    run_s: run,
    run_total_s: runSeconds,
    wait_s: wait,
    priorities: priorities.map(({ oldestSeconds: seconds, wait: its, ...rest }) => ({ ...rest, oldest_s: seconds, wait_s: its })),
  }
}

/** What went on in every type, in the words of the API. */
export function typeSeriesAnswer({ from, to, stepMs, types }: TypeSeries): TypeSeriesAnswer {
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    step_ms: stepMs,
    types: types.map(
      ({
        oldestSeconds,
        enqueuedPerSecond,
        endedPerSecond,
        failedShare,
        trueSuccessShare,
        run,
        wait,
        runSeconds,
        runP95,
        waitP95,
        ...type
      }) => ({
        ...type,
        oldest_s: oldestSeconds,
        enqueued_per_s: enqueuedPerSecond,
        ended_per_s: endedPerSecond,
        failed_share: failedShare,
        true_success_share: trueSuccessShare,
        run_s: run,
        wait_s: wait,
        run_total_s: runSeconds,
        run_p95_s: runP95,
        wait_p95_s: waitP95,
      }),
    ),
  }
}
