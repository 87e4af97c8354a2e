import type { Definition, Report, Result, StepBody, VitalsBody } from '../../api/worker.js'
import type { Vitals } from '../../background/vital-signs.js'
import { type Duration, toMilliseconds } from '../../job/duration.js'
import { storableSchema } from '../../job/json-schema.js'
import { type LogEntry, logLine, progress } from '../../job/log-entry.js'
import { didYouMean } from '../../job/nearest.js'
import type { Outcome } from '../../job/outcome.js'
import { encodePayload } from '../../job/payload.js'
import { refused } from '../../job/refused.js'
import { stepName } from '../../job/steps.js'
import { type AnyJobType, defineType } from '../../job/type.js'
import type { RemoteReport, RemoteResult } from '../../remote/results.js'
import type { CalledStep } from '../../remote/steps.js'
import type { RemoteWorker } from '../../remote/workers.js'
import type { NamedType } from '../../store/remote-rows.js'
import { overHttp } from '../spelling.js'

/** What a schema cannot say about the bodies of worker requests, and what they mean to the rest of the server. */

const defaultLease = '60s'
const leaseMs = { least: 1_000, most: 86_400_000 }
const longestWaitMs = 30_000
/** Who sleeps longer is answered with as much, and asks again then. */
export const longestDelayMs = 30 * 86_400_000

/** A type as a worker registers it: by its name, or with the fields of its definition and no others. */
export function defined(type: string | Definition, index: number): string | NamedType {
  if (typeof type === 'string') return type
  const { timeoutMs, backoff, uses } = checkedDefinition(type, index)
  const { timeout, ...named } = type
  return {
    ...{ ...named, index },
    ...(timeout === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(type.backoff === undefined ? {} : { backoff: backoff as object }),
    ...(type.uses === undefined ? {} : { uses }),
  }
}

function checkedDefinition(definition: Definition, index: number): AnyJobType {
  const { max_attempts: maxAttempts, max_result_bytes: _, payload_schema: schema, ...rest } = definition
  try {
    storableSchema(schema, 'payloadSchema')
    return defineType({ ...rest, ...(maxAttempts === undefined ? {} : { maxAttempts }) })
  } catch (error) {
    throw overHttp(error, ['types', index])
  }
}

/** What a worker says of its process; what it leaves out stays as it was. */
export function vitalsOf({ lag_ms, memory_bytes, connections }: VitalsBody = {}): Partial<Vitals> {
  return {
    ...(lag_ms !== undefined && { lagMs: lag_ms }),
    ...(memory_bytes !== undefined && { memoryBytes: memory_bytes }),
    ...(connections !== undefined && { connections }),
  }
}

export function typesOf(worker: RemoteWorker, asked: readonly string[] | undefined): Map<number, RemoteWorker['types'][number]> {
  const known = worker.types.map(({ name }) => name)
  const foreign = asked?.find((name) => !known.includes(name))
  if (foreign !== undefined)
    throw refused('types', `has ${foreign}${didYouMean(foreign, known)}; this worker registered for ${known.join(', ')}`)
  return new Map(worker.types.filter(({ name }) => !asked || asked.includes(name)).map((type) => [type.id, type]))
}

export function readResult(given: Result, path: string): RemoteResult {
  const { job, lease, result, ran_ms: ranMs } = given
  return {
    job: job.toLowerCase(),
    lease,
    outcome: outcomeOf(given, result, path),
    returned: given.returned,
    ...(ranMs === undefined ? {} : { ranMs }),
  }
}

function outcomeOf(given: Result, result: Result['result'], path: string): Outcome {
  const only = (field: keyof Result, of: Result['result']) => {
    if (given[field] !== undefined && result !== of) throw refused(`${path}.${field}`, `is only for a result of ${of}`)
  }
  for (const field of ['error', 'fatal', 'timed_out', 'retry_after'] as const) only(field, 'fail')
  only('stop', 'snooze')
  if (result !== 'block') only('delay', 'snooze')
  only('returned', 'complete')
  switch (result) {
    case 'complete':
      return { kind: 'completed' }
    case 'hand_back':
      return { kind: 'handed_back' }
    case 'block':
      return {
        kind: 'blocked',
        delayMs: given.delay === undefined ? null : within(given.delay, `${path}.delay`, 0, longestDelayMs),
      }
    case 'snooze': {
      if (given.delay === undefined) throw refused(`${path}.delay`, 'is missing; say for how long to snooze')
      const delayMs = within(given.delay, `${path}.delay`, 0, longestDelayMs)
      return { kind: 'snoozed', delayMs, ...(given.stop === undefined ? {} : { stop: given.stop }) }
    }
    case 'fail': {
      if (given.error === undefined) throw refused(`${path}.error`, 'is missing; say what went wrong')
      const failure = { name: 'Error', ...given.error }
      if (given.timed_out) return { kind: 'timed_out', failure }
      const { retry_after: after, fatal = false } = given
      const asked = after === undefined ? {} : { retryAfterMs: within(after, `${path}.retry_after`, 0, longestDelayMs) }
      return { kind: 'failed', failure, fatal, ...asked }
    }
  }
}

/** What a step came to as JSON, or how long it sleeps or waits; a field that is not for its kind is refused. */
export function readStep({ name, kind, after, done, result, duration }: StepBody): {
  called: CalledStep
  waits: boolean
  result: string | null
  ms: number | null
} {
  const waits = kind === 'sleep' || kind === 'signal'
  if (waits && result !== undefined) throw refused('result', `is not for a ${kind}`)
  if (!waits && duration !== undefined) throw refused('duration', 'is only for a sleep or a signal')
  if (kind === 'sleep' && duration === undefined) throw refused('duration', 'is missing; say how long it sleeps')
  const [first = '', ...number] = name.split('#')
  stepName(first, 'name')
  if (number.length > 1 || (number[0] !== undefined && !/^[1-9][0-9]{0,5}$/.test(number[0]))) {
    throw refused('name', 'must be a name, or of the second of one name the name and #2')
  }
  const json = result === undefined ? null : encodePayload(result, 'result')
  if (json?.startsWith('{"$enc"')) throw refused('result', 'begins with the field "$enc", which stands for what is encrypted')
  return {
    called: { name, kind, ...(after !== undefined && { after }), ...(done !== undefined && { done }) },
    waits,
    result: json,
    ms: duration === undefined ? null : toMilliseconds(duration, 'duration'),
  }
}

export function readReports(reports: readonly Report[] = []): RemoteReport[] {
  return reports.map(({ job, lease, progress: fraction, note, lines = [], checkpoint }, i) => {
    const entries = [...(fraction === undefined ? [] : [progress(fraction, note)]), ...lines.map(lineOf)]
    return {
      job: job.toLowerCase(),
      lease,
      entries,
      ...(checkpoint === undefined ? {} : { checkpoint: encodePayload(checkpoint, `reports[${i}].checkpoint`) }),
    }
  })
}

function lineOf(line: NonNullable<Report['lines']>[number]): LogEntry {
  return typeof line === 'string' ? logLine(line, 'info') : logLine(line.line, line.level ?? 'info')
}

export function waitOf(wait: Duration | undefined): number {
  return within(wait ?? 0, 'wait', 0, longestWaitMs)
}

export function leaseOf(lease: Duration | undefined): number {
  return within(lease ?? defaultLease, 'lease', leaseMs.least, leaseMs.most)
}

function within(value: Duration, field: string, least: number, most: number): number {
  const ms = Math.ceil(toMilliseconds(value, field))
  if (ms >= least && ms <= most) return ms
  throw refused(field, `is ${ms} ms; it must lie between ${least} and ${most}`)
}
