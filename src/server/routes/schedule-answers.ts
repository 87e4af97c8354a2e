import type { ScheduleAnswer, ScheduleStoryAnswer } from '../../api/schedules.js'
import type { ScheduleDefinition } from '../../schedule/spec.js'
import type { ScheduleState, ScheduleTick } from '../../schedule/states.js'
import { camelCase, snakeCase } from '../spelling.js'
import { doneAnswer, pausedAnswer } from './admin-answers.js'
import { moment } from './job-answers.js'

/** What the library says about schedules, in the words of the API. */
export function scheduleAnswer(state: ScheduleState): ScheduleAnswer {
  const { name, id, type, payload, cron, every, jitter, missed, overlap, priority, status, tags, dropped, error, code, last } =
    state
  return {
    ...{ name, id, type, payload, cron, every, jitter, missed, overlap, priority, status },
    time_zone: state.timeZone,
    start: moment(state.start),
    end: moment(state.end),
    max_attempts: state.maxAttempts,
    concurrency_key: state.concurrencyKey,
    tags: tags && [...tags],
    paused: pausedAnswer(state.paused),
    next: moment(state.next),
    last_tick: moment(last.tick),
    last_job: last.job,
    dropped: dropped && { ticks: dropped.ticks, last: dropped.last.toISOString() },
    error: error && { message: error.message, at: error.at.toISOString() },
    code: code && { set: code.set, gone_since: moment(code.goneSince), differs: snakeCased(code.differs) },
    created_at: state.created.at.toISOString(),
    created_by: state.created.by,
    changed: doneAnswer(state.changed),
  }
}

export function tickAnswer({ tick, inTheWay, ...same }: ScheduleTick): ScheduleStoryAnswer['ticks'][number] {
  return { ...same, tick: tick.toISOString(), in_the_way: inTheWay }
}

function snakeCased(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [snakeCase(field), value]))
}

/** The fields of a request as the library calls them. */
export function definitionOf(fields: object): Partial<ScheduleDefinition> {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [camelCase(field), value]))
}
