import { formatDuration } from '../job/duration.js'
import type { JobStatus } from '../job/state.js'
import type { Privacy } from '../privacy/privacy.js'
import type { ScheduleRow, TickRow } from '../store/schedule-store.js'
import type { MissedPolicy, OverlapPolicy, ScheduleSpec } from './spec.js'
import { nextTick } from './ticks.js'

/** When a schedule ticks and what a tick makes, as people read it. */
export interface ScheduleFields {
  type: string
  /** Redacted like the payload of a job. */
  payload: unknown
  cron: string | null
  every: string | null
  timeZone: string
  start: Date | null
  end: Date | null
  jitter: string
  missed: MissedPolicy
  overlap: OverlapPolicy
  priority: number | null
  maxAttempts: number | null
  concurrencyKey: string | null
  tags: readonly string[] | null
}

/** A schedule as it is now. */
export interface ScheduleState extends ScheduleFields {
  name: string
  id: string
  /** `failing`: the last try to fire it failed, and it is tried again every minute. `ended`: it has no tick any more. */
  status: 'active' | 'paused' | 'ended' | 'failing'
  /** Until: when it is over by itself. */
  paused: { at: Date; by: string; why: string | null; until: Date | null } | null
  /** The tick that comes next; one that is over has not been fired yet. Null: none does, or it is paused. */
  next: Date | null
  last: { tick: Date | null; job: string | null }
  /** Missed ticks that were not made up for, of all time, and the last of them; null: none. */
  dropped: { ticks: number; last: Date } | null
  error: { message: string; at: Date } | null
  /** The code it stands in; null: it was created at run time. */
  code: {
    set: string
    /** Since when its code was started without it. It goes on until it is pruned. */
    goneSince: Date | null
    /** What the code says of the fields that operators changed. */
    differs: Partial<ScheduleFields>
  } | null
  created: { at: Date; by: string }
  changed: { at: Date; by: string; why: string | null } | null
}

/** One tick of a schedule. */
export interface ScheduleTick {
  tick: Date
  kind: 'tick' | 'manual' | 'backfill'
  /** `queued`: its job waits for the end of the one in the way. `skipped`: it made none, because of that one. */
  outcome: 'created' | 'queued' | 'skipped'
  job: string | null
  /** Null where the job is no longer kept, or there is none. */
  status: JobStatus | null
  inTheWay: string | null
}

export function specOf(row: ScheduleRow): ScheduleSpec {
  return { ...(row.defined as ScheduleSpec), ...row.override }
}

export function scheduleState(row: ScheduleRow, privacy: Privacy): ScheduleState {
  const spec = specOf(row)
  const next = nextOf(spec, row.handled)
  const paused = row.paused !== null
  const ended = next === undefined
  return {
    name: row.name,
    id: row.id,
    ...fieldsOf(spec, row, privacy),
    status: paused ? 'paused' : row.error !== null ? 'failing' : ended ? 'ended' : 'active',
    paused: row.paused === null ? null : pausedState(row, row.paused),
    next: paused || ended ? null : new Date(next),
    last: { tick: dateOrNull(row.lastTick), job: row.lastJob },
    dropped: row.droppedTo === null ? null : { ticks: Number(row.dropped), last: new Date(row.droppedTo) },
    error: row.error === null ? null : { message: row.error, at: new Date(row.errorAt ?? row.now) },
    code: row.set === null ? null : { set: row.set, goneSince: dateOrNull(row.gone), differs: codeSays(row, privacy) },
    created: { at: new Date(row.created), by: row.createdBy },
    changed: row.changed === null ? null : { at: new Date(row.changed), by: row.changedBy ?? '', why: row.changedWhy },
  }
}

export function scheduleTick({ tick, kind, outcome, job, status, inTheWay }: TickRow): ScheduleTick {
  return { tick: new Date(tick), kind, outcome, job, status: status as JobStatus | null, inTheWay }
}

function pausedState({ pausedBy, pausedWhy: why, pausedUntil }: ScheduleRow, at: number) {
  return { at: new Date(at), by: pausedBy ?? '', why, until: dateOrNull(pausedUntil) }
}

/** A spec that this version cannot read is no reason to show none of the others. */
function nextOf(spec: ScheduleSpec, handledTo: number): number | undefined {
  try {
    return nextTick(spec, handledTo)
  } catch {
    return undefined
  }
}

/** Under which name people know a field of a stored spec. */
const shownAs: Partial<Record<keyof ScheduleSpec, keyof ScheduleFields>> = { everyMs: 'every', jitterMs: 'jitter' }

function codeSays(row: ScheduleRow, privacy: Privacy): Partial<ScheduleFields> {
  const fields = fieldsOf(row.defined as ScheduleSpec, row, privacy)
  const names = Object.keys(row.override ?? {}).map((key) => shownAs[key as keyof ScheduleSpec] ?? (key as keyof ScheduleFields))
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

function fieldsOf(spec: ScheduleSpec, { encrypted, redact }: ScheduleRow, privacy: Privacy): ScheduleFields {
  const { everyMs, jitterMs, start, end, payload, ...rest } = spec
  return {
    type: rest.type,
    payload: payload === '{}' ? {} : privacy.shown(payload, { type: rest.type, encrypted, redact }),
    cron: rest.cron,
    every: everyMs === null ? null : formatDuration(everyMs),
    timeZone: rest.timeZone,
    start: dateOrNull(start),
    end: dateOrNull(end),
    jitter: formatDuration(jitterMs),
    missed: rest.missed,
    overlap: rest.overlap,
    priority: rest.priority,
    maxAttempts: rest.maxAttempts,
    concurrencyKey: rest.concurrencyKey,
    tags: rest.tags,
  }
}

function dateOrNull(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
