import type { LimitsBody } from '../../api/admin.js'
import { UsageError } from '../exit.js'

/** Limits as they are typed: a value, or none. */
export interface TypedLimits {
  maxRunning?: string
  rate?: string
  breaker?: string
}

/** What is left out of it stays. */
type Breaker = NonNullable<LimitsBody['breaker']>

/** A number, or null for none. */
export function countOf(given: string, option: string): number | null {
  if (given === 'none') return null
  if (/^\d+$/.test(given)) return Number(given)
  throw new UsageError(`${option} is "${given}"; it must be a whole number, or none`, option)
}

/** A count and a time, or null for none. */
export function rateOf(given: string, option: string): { count: number; per: string } | null {
  if (given === 'none') return null
  const [, count, per] = /^(\d+)\/(\S+)$/.exec(given) ?? []
  if (count !== undefined && per !== undefined) return { count: Number(count), per }
  throw new UsageError(`${option} is "${given}"; it must be a number and a time, such as 100/1s, or none`, option)
}

/** The limits that types and dependencies share. */
export function limitsOf({ maxRunning, rate, breaker }: TypedLimits): Pick<LimitsBody, 'max_running' | 'rate' | 'breaker'> {
  return {
    ...(maxRunning !== undefined && { max_running: countOf(maxRunning, '--max-running') }),
    ...(rate !== undefined && { rate: rateOf(rate, '--rate') }),
    ...(breaker !== undefined && { breaker: breaker === 'off' ? false : ({ share: shareOf(breaker) } as Breaker) }),
  }
}

function shareOf(given: string): number {
  const share = Number(given)
  if (share > 0 && share <= 1) return share
  throw new UsageError(`--breaker is "${given}"; it must be a share such as 0.5, or off`, '--breaker')
}

export function refuseNone(limits: object): void {
  if (Object.keys(limits).length > 0) return
  throw new UsageError('no limit was given: pass --max-running 10, --rate 100/1s or --breaker 0.5', 'limits')
}
