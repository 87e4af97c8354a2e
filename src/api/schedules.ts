import {
  anything,
  done,
  duration,
  jobType,
  number,
  numberOrNull,
  paused,
  text,
  textOrNull,
  time,
  timeOrNull,
  why,
  yesOrNo,
} from './common.js'
import { answer, list, type Of, object } from './schema.js'

const orNull = <const One extends object>(one: One) => ({ anyOf: [one, { type: 'null' }] }) as const

const name = { type: 'string', minLength: 1, maxLength: 200, description: 'the name of a schedule' } as const
const overlap = { enum: ['allow', 'skip', 'queue', 'cancel'] } as const
const missed = {
  anyOf: [{ enum: ['skip', 'once'] }, object({ all: { type: 'integer', minimum: 1, maximum: 1_000 } }, ['all'])],
  description: '"skip", "once", or {"all": n} for the last n of them',
} as const
const moment = { type: 'string', maxLength: 50, description: 'a time with its offset, such as "2026-03-01T08:00:00Z"' } as const

const fields = {
  type: jobType,
  payload: anything,
  cron: { type: 'string', maxLength: 200, description: 'a cron expression of five fields, or six with seconds first' },
  every: duration,
  time_zone: { type: 'string', maxLength: 100, description: 'the name of an IANA time zone' },
  start: moment,
  end: moment,
  jitter: duration,
  missed,
  overlap,
  priority: { type: 'integer', minimum: 0, maximum: 9 },
  max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
  concurrency_key: { type: 'string', minLength: 1, maxLength: 500 },
  tags: { type: 'array', maxItems: 8, items: { type: 'string', minLength: 1, maxLength: 100 } },
} as const
export const scheduleBody = object({ name, ...fields, why }, ['name', 'type'])
/** A schedule to create, as the body of `POST /admin/schedules`. */
export type ScheduleBody = Of<typeof scheduleBody>
export const scheduleChange = object({ ...fields, why })
/** The fields of a schedule to change. */
export type ScheduleChange = Of<typeof scheduleChange>
export const scheduleParams = object({ name }, ['name'])
export const schedulesQuery = object({ after: name, limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 } })
/** Which schedules `GET /admin/schedules` lists. */
export type SchedulesQuery = Of<typeof schedulesQuery>
export const previewQuery = object({ count: { type: 'integer', minimum: 1, maximum: 1_000, default: 10 } })
export const backfillBody = object({ from: time, to: time, dry_run: yesOrNo, why }, ['from', 'to'])
/** A range of time whose ticks are to have jobs. */
export type BackfillBody = Of<typeof backfillBody>
export const pruneBody = object({ dry_run: yesOrNo, why })
/** How schedules that are gone from code are removed. */
export type PruneBody = Of<typeof pruneBody>

const state = {
  name: text,
  id: text,
  type: text,
  payload: anything,
  cron: textOrNull,
  every: textOrNull,
  time_zone: text,
  start: timeOrNull,
  end: timeOrNull,
  jitter: text,
  missed,
  overlap,
  priority: numberOrNull,
  max_attempts: numberOrNull,
  concurrency_key: textOrNull,
  tags: orNull(list(text)),
  status: { enum: ['active', 'paused', 'ended', 'failing'] },
  paused: orNull(paused),
  next: timeOrNull,
  last_tick: timeOrNull,
  last_job: textOrNull,
  dropped: orNull(answer({ ticks: number, last: time })),
  error: orNull(answer({ message: text, at: time })),
  code: orNull(answer({ set: text, gone_since: timeOrNull, differs: { type: 'object', additionalProperties: true } })),
  created_at: time,
  created_by: text,
  changed: orNull(done),
} as const
export const scheduleAnswer = answer(state)
/** One schedule as `GET /admin/schedules` lists it. */
export type ScheduleAnswer = Of<typeof scheduleAnswer>
export const schedulesAnswer = answer({ schedules: list(scheduleAnswer), next: textOrNull })

const outcome = { enum: ['created', 'queued', 'skipped'] } as const
const tick = answer({
  tick: time,
  kind: { enum: ['tick', 'manual', 'backfill'] },
  outcome,
  job: textOrNull,
  status: textOrNull,
  in_the_way: textOrNull,
})
export const scheduleStoryAnswer = answer({ ...state, reasons: list(answer({ why: text, opens: text })), ticks: list(tick) })
/** A schedule, why it waits and its latest ticks, as `GET /admin/schedules/:name` answers. */
export type ScheduleStoryAnswer = Of<typeof scheduleStoryAnswer>
export const previewAnswer = answer({ ticks: list(answer({ tick: time, due: time })) })
/** When a schedule ticks next. */
export type PreviewAnswer = Of<typeof previewAnswer>
export const ranAnswer = answer({ job: textOrNull, outcome, in_the_way: textOrNull })
/** What became of a schedule's run by hand; `job` is null where the one in the way has not ended. */
export type RanAnswer = Of<typeof ranAnswer>
export const backfilledAnswer = answer({ ticks: number, made: list(answer({ tick: time, job: text })) })
/** How many ticks a range has, and the jobs that were made. */
export type BackfilledAnswer = Of<typeof backfilledAnswer>
export const prunedAnswer = answer({ names: list(text) })
