import { defineSchedule, type Schedule, type ScheduleDefinition, type ScheduleSpec } from './spec.js'

type Change = { [Field in keyof ScheduleDefinition]?: ScheduleDefinition[Field] | null }

/** A stored schedule with some fields changed, checked whole. Null takes a field back to its default. */
export function changedSpec(name: string, spec: ScheduleSpec, fields: Change): Schedule {
  const merged: Record<string, unknown> = { ...definitionOf(spec) }
  // Whoever gives one of the two means it instead of the other.
  if (fields.cron != null) delete merged.every
  if (fields.every != null) for (const field of ['cron', 'timeZone']) delete merged[field]
  for (const [field, value] of Object.entries(fields)) {
    if (value === null) delete merged[field]
    else merged[field] = value
  }
  return defineSchedule({ ...merged, name } as unknown as ScheduleDefinition)
}

/** What a spec was made from. */
function definitionOf(spec: ScheduleSpec): Omit<ScheduleDefinition, 'name'> {
  const { type, payload, cron, everyMs, timeZone, start, end, jitterMs, missed, overlap } = spec
  const { priority, maxAttempts, concurrencyKey, tags } = spec
  return {
    type,
    payload: JSON.parse(payload),
    ...(cron === null ? {} : { cron, timeZone }),
    ...(everyMs === null ? {} : { every: everyMs }),
    ...(start === null ? {} : { start: new Date(start) }),
    ...(end === null ? {} : { end: new Date(end) }),
    jitter: jitterMs,
    missed,
    overlap,
    ...(priority === null ? {} : { priority }),
    ...(maxAttempts === null ? {} : { maxAttempts }),
    ...(concurrencyKey === null ? {} : { concurrencyKey }),
    ...(tags === null ? {} : { tags }),
  }
}
