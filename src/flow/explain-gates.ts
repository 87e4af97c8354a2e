import { formatDuration } from '../job/duration.js'
import type { ExplainFacts, GateFacts } from '../store/explain-rows.js'

/** One thing that keeps a job from running now. */
export interface Gate {
  gate:
    | 'ended'
    | 'running'
    | 'scheduled'
    | 'retry'
    | 'sleep'
    | 'signal'
    | 'approval'
    | 'version'
    | 'behind'
    | 'parents'
    | 'set_aside'
    | 'type_paused'
    | 'type_stopped'
    | 'breaker'
    | 'concurrency'
    | 'rate'
    | 'dependency_paused'
    | 'dependency_breaker'
    | 'dependency_concurrency'
    | 'dependency_rate'
    | 'key_paused'
    | 'key_rate'
    | 'key_stopped'
    | 'key_concurrency'
    | 'key_halted'
    | 'key_order'
    | 'lane_drained'
    | 'lane_full'
    | 'no_worker'
    | 'in_line'
  /** What holds it, for a person. */
  why: string
  /** What would open it. */
  opens: string
  opensInMs?: number
  heldBy?: string[]
}

/** What the gate of its type holds a job back by. */
export function typeGates(facts: ExplainFacts): Gate[] {
  if (!facts.gated) return []
  const { type } = facts
  const gates = [
    paused(facts, 'type_paused', type, type),
    ...(positive(facts.stopped_in_ms)
      ? [timed('type_stopped', `a handler of ${type} asked to stop the type for a while`, facts.stopped_in_ms)]
      : []),
    broken(facts, 'breaker', type),
    full(facts, 'concurrency', `jobs of ${type} are running`),
    overRate(facts, 'rate', type),
  ]
  return gates.filter((gate) => gate !== undefined)
}

/** The same for each dependency that its type uses, which jobs of other types may have taken. */
export function dependencyGates({ gated, type, dependencies }: ExplainFacts): Gate[] {
  if (!gated) return []
  const gates = (dependencies ?? []).flatMap((facts) => {
    const used = `${facts.name}, which ${type} uses,`
    return [
      paused(facts, 'dependency_paused', used, facts.name),
      broken(facts, 'dependency_breaker', used),
      full(facts, 'dependency_concurrency', `jobs that use ${facts.name} are running`),
      overRate(facts, 'dependency_rate', `types that use ${facts.name}`),
    ]
  })
  return gates.filter((gate) => gate !== undefined)
}

function paused(facts: GateFacts, gate: Gate['gate'], who: string, name: string): Gate | undefined {
  const { paused_by: by, paused_why: why, paused_until: until, paused_over_in_ms: overInMs } = facts
  return by ? pause(gate, `${who} was paused by ${by}`, because(why), name, until, overInMs) : undefined
}

/** One that has an end is over then, also where nobody resumes it. */
export function pause(
  gate: Gate['gate'],
  what: string,
  reason: string,
  name: string,
  until: string | null | undefined,
  overInMs: number | null | undefined,
): Gate {
  if (!until) return { gate, why: `${what}${reason}`, opens: `resuming ${name}` }
  const open = timed(gate, `${what} until ${new Date(until).toISOString()}${reason}`, overInMs ?? 0)
  return { ...open, opens: `${open.opens}; or resuming ${name}` }
}

function broken(facts: GateFacts, gate: Gate['gate'], whose: string): Gate | undefined {
  if (facts.breaker_hold === 'open') {
    return { gate, why: `the breaker of ${whose} is ${facts.breaker_reason}`, opens: 'releasing or closing it' }
  }
  if (!facts.breaker_opened_at || facts.breaker_hold === 'closed') return undefined
  const open = timed(gate, `the breaker of ${whose} is open: ${facts.breaker_reason}`, facts.breaker_probe_in_ms ?? 0)
  return { ...open, opens: `a probe that succeeds; the next one goes in ${formatDuration(Math.round(open.opensInMs ?? 0))}` }
}

function full(
  { max_running: most, running = 0, held_by: heldBy = [], overrides }: GateFacts,
  gate: Gate['gate'],
  what: string,
): Gate | undefined {
  if (most === null || most === undefined || running < most) return undefined
  const why = `${running} of at most ${most} ${what}${saidBy(overrides, 'max_running')}`
  return { gate, why, opens: 'the end of one of them, or a higher limit', heldBy }
}

function overRate(facts: GateFacts, gate: Gate['gate'], whose: string): Gate | undefined {
  if (!facts.rate_count || (facts.rate_used ?? 0) < facts.rate_count) return undefined
  return atRate(gate, whose, facts.rate_count, facts.rate_per_ms, facts.rate_free_in_ms)
}

/** Those that were admitted and have not started yet count too; until one has, nobody knows when the rate is free again. */
export function atRate(
  gate: Gate['gate'],
  whose: string,
  count: number,
  perMs: number | null | undefined,
  freeInMs: number | null | undefined,
): Gate {
  const per = formatDuration(Number(perMs))
  return timed(gate, `${whose} may start ${count} jobs in ${per}, and that many have or are about to`, freeInMs ?? Number(perMs))
}

export function timed(gate: Gate['gate'], why: string, inMs: number | string): Gate {
  const opensInMs = Math.max(0, Number(inMs))
  return { gate, why, opens: `time, in ${formatDuration(Math.round(opensInMs))}`, opensInMs }
}

/** Whose limit it is, where it is not that of the code. */
export function saidBy(overrides: GateFacts['overrides'], field: string): string {
  const one = overrides?.find((override) => override.field === field)
  if (one === undefined) return ''
  const until = one.until === null ? '' : ` until ${new Date(one.until).toISOString()}`
  return ` (set by ${one.by}${until}; the code says ${one.code ?? 'nothing'})`
}

export function positive(ms: number | null | undefined): ms is number {
  return ms !== null && ms !== undefined && Number(ms) > 0
}

export function because(why: string | null | undefined): string {
  return why ? ` (${why})` : ''
}
