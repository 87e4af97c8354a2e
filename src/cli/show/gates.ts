import type { BreakerAnswer, DependencyAnswer, GateAnswer } from '../../api/admin.js'
import { formatDuration } from '../../job/duration.js'

/** What an operator types for what is done to a breaker. */
export const breakerActions = {
  open: 'open',
  close: 'close',
  'hold-open': 'hold_open',
  'hold-closed': 'hold_closed',
  release: 'release',
} as const

/** How many run, of how many, and how fast they may start. */
export function limitWords({ held, max_running, rate }: Pick<GateAnswer, 'held' | 'max_running' | 'rate'>): string[] {
  return [
    max_running === null ? `${held} running` : `${held} of ${max_running} running`,
    ...(rate === null ? [] : [`at most ${rate.count} in ${formatDuration(rate.per_ms)}`]),
  ]
}

/** What holds jobs back. */
export function shutWords({ paused, breaker }: Pick<DependencyAnswer, 'paused' | 'breaker'>): string[] {
  return [
    ...(paused === null ? [] : [`paused by ${paused.by}${untilWords(paused.until)}`]),
    ...(breaker.open ? ['breaker open'] : []),
  ]
}

export function untilWords(until: string | null): string {
  return until === null ? '' : ` until ${until}`
}

/** What operators said, beside what the code says, a line each. */
export function overrideLines(overrides: DependencyAnswer['overrides']): string[] {
  return overrides.map(({ field, value, by, until, code }) => {
    const says = code === null ? 'the code says nothing' : `the code says ${JSON.stringify(code)}`
    const set = value === null ? `no ${field}` : `${field} ${JSON.stringify(value)}`
    return `  ${set} by ${by}${untilWords(until)}; ${says}`
  })
}

/** The pause, what operators said of limits, and the breaker of a type or a dependency, a line each. */
export function gateLines({ paused, overrides, breaker }: Pick<DependencyAnswer, 'paused' | 'overrides' | 'breaker'>): string[] {
  const ofPause = (state: NonNullable<typeof paused>) =>
    ['  paused', `by ${state.by}`, `${state.at}${untilWords(state.until)}`, state.why ?? ''].join('  ').trimEnd()
  return [...(paused === null ? [] : [ofPause(paused)]), ...overrideLines(overrides), ...breakerLines(breaker)]
}

function breakerLines({
  share,
  minimum,
  window_ms,
  probe_ms,
  held_by,
  open,
  opened_at,
  reason,
  next_probe_at,
}: BreakerAnswer): string[] {
  const attempts = `${Math.round(share * 100)} % of at least ${minimum} attempts in ${formatDuration(window_ms)}`
  return [
    share < 1 ? `  breaker opens above ${attempts}, probes every ${formatDuration(probe_ms)}` : '  breaker never opens by itself',
    ...(held_by === 'nobody' ? [] : [`  an operator holds the breaker ${open ? 'open' : 'closed'}`]),
    ...(opened_at === null ? [] : [['  breaker open', `since ${opened_at}`, reason ?? ''].join('  ').trimEnd()]),
    ...(next_probe_at === null ? [] : [`  next probe ${next_probe_at}`]),
  ]
}
