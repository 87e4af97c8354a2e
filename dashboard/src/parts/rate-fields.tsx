import type { GateAnswer } from '../../../src/api/admin.js'
import type { Values } from './act.js'
import { given, numberOrNull } from './fields.js'
import { asDuration } from './time.js'

export type Rate = GateAnswer['rate']

/** How many may start in what time. */
export function RateFields({ name, label, rate }: { name: string; label: string; rate: Rate }) {
  return (
    <fieldset>
      <legend>{label}</legend>
      <input name={`${name}_count`} aria-label={`${label}: how many`} type="number" min={1} defaultValue={rate?.count ?? ''} />
      <span>in</span>
      <input
        name={`${name}_per`}
        aria-label={`${label}: in what time`}
        placeholder="1m"
        defaultValue={rate ? asDuration(rate.per_ms) : ''}
      />
    </fieldset>
  )
}

/** What stands in these fields, for the API. */
export function rateOf(values: Values, name: string): { count: number; per: string } | null {
  const count = numberOrNull(values[`${name}_count`])
  return count === null ? null : { count, per: given(values[`${name}_per`]) ?? '1m' }
}

/** A rate as the API answers it, in the form that it takes. */
export const rateAsTaken = (rate: Rate) => rate && { count: rate.count, per: asDuration(rate.per_ms) }
