// What `npm run mutate` can be told.
import { parseArgs } from 'node:util'

export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '60' },
      only: { type: 'string', default: '' },
      resume: { type: 'boolean', default: false },
      whole: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  })
  const options = { ...values, seed: Number(values.seed), minutes: Number(values.minutes) }
  if (!Number.isInteger(options.seed)) throw new Error('--seed needs a whole number')
  if (!(options.minutes > 0)) throw new Error('--minutes needs a number above 0')
  return options
}
