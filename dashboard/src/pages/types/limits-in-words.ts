import type { Gates } from '../../api/answers.js'
import { inWords } from '../../parts/time.js'

type Gate = Gates['types'][number]['gate']
type Rate = NonNullable<Gate>['rate']

/** The limits of a type in a line; a dash where it has none. */
export function limitsInWords(gate: Gate): string {
  if (!gate) return '–'
  const parts = [
    gate.max_running === null ? '' : `${gate.max_running} at once`,
    gate.max_running_per_key === null ? '' : `${gate.max_running_per_key} per key`,
    gate.rate === null ? '' : rateInWords(gate.rate),
    gate.rate_per_key === null ? '' : `${rateInWords(gate.rate_per_key)} per key`,
    gate.ordered ? 'in order' : '',
    gate.fair ? 'keys take turns' : '',
  ].filter(Boolean)
  return parts.length === 0 ? '–' : parts.join(' · ')
}

export const rateInWords = (rate: Rate) => (rate === null ? 'no limit' : `${rate.count} in ${inWords(rate.per_ms)}`)
