import { showValue } from './failure.js'
import { refused } from './refused.js'

/** Milliseconds, or a text such as '200ms', '30s', '5m', '1.5h', '7d' or '1h30m', or in words: '3 days', '1 hour 30 minutes'. */
export type Duration = number | string

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
type Unit = keyof typeof units

/** Past a hundred years a duration is a slip of the keyboard, and soon more than a Postgres timestamp can hold. */
const longest = 36_525 * units.d

/** What each unit may be called, as PostgreSQL calls them too: SQL and the library read the same texts. */
const names: Record<Unit, string> = {
  d: 'd|days?',
  h: 'h|hours?',
  m: 'm|min|minutes?',
  s: 's|sec|seconds?',
  ms: 'ms|milliseconds?',
}

/** Big units before small ones and each at most once, because '5m5m' or '30m1h' is more often a mistake than a wish. */
const shape = new RegExp(`^${Object.values(names).map(optional).join(' ?')}$`)

function optional(name: string): string {
  return `(?:(\\d+(?:\\.\\d+)?) ?(?:${name}))?`
}

/** Whole milliseconds, since that is what the database keeps; a fraction is rounded. */
export function toMilliseconds(value: unknown, field: string): number {
  const exact = typeof value === 'number' ? value : typeof value === 'string' ? parse(value) : Number.NaN
  if (exact >= 0 && exact <= longest) return Math.round(exact) + 0
  throw refused(field, problem(value, exact))
}

/** The exact duration in words that toMilliseconds reads back: '1h 30m', '200ms'. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return String(ms)
  if (ms < 0) return `-${formatDuration(-ms)}`
  let rest = Math.round(ms)
  const parts: string[] = []
  for (const unit of Object.keys(units) as Unit[]) {
    const count = Math.floor(rest / units[unit])
    if (count > 0) parts.push(`${count}${unit}`)
    rest -= count * units[unit]
  }
  return parts.join(' ') || '0ms'
}

function parse(text: string): number {
  // The limit keeps the pattern's work small for a text that comes from outside.
  const found = text.length > 100 || text !== text.trim() ? null : shape.exec(text)
  if (found === null) return Number.NaN
  const counts = found.slice(1)
  if (counts.every((count) => count === undefined)) return Number.NaN
  return Object.values(units).reduce((sum, size, at) => sum + Number(counts[at] ?? 0) * size, 0)
}

function problem(value: unknown, exact: number): string {
  const shown = showValue(value)
  if (exact > longest) return `is ${shown}, which is longer than 100 years`
  if (exact < 0) return `is ${shown}, but a duration cannot be negative`
  if (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value)) {
    return `is ${shown}, which has no unit; write "${value}ms", "${value}s" or "${value}m", or a plain number of milliseconds`
  }
  return `is ${shown}; write a number of milliseconds or a text such as "200ms", "30s", "5m", "1.5h", "7d", "1h30m" or "3 days"`
}
