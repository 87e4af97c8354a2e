import { type Duration, toMilliseconds } from './duration.js'
import { refused, refuseUnknown } from './refused.js'

/** A pause or a limit that ends by itself. */
export interface ForATime {
  /**
   * When it is over, by the clock of the database.
   * @range 1 s to 366 days
   * @default until somebody takes it back
   */
  for?: Duration
}

const shortest = 1_000
const longest = 366 * 86_400_000

/** Null: it has no end. */
export function readFor(options: ForATime, others: readonly string[] = []): number | null {
  refuseUnknown(options, ['for', ...others])
  if (options.for === undefined) return null
  const ms = toMilliseconds(options.for, 'for')
  if (ms >= shortest && ms <= longest) return ms
  throw refused('for', `is ${String(options.for)}; it must lie between 1 second and 366 days`)
}
