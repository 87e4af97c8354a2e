// What `npm run chaos` can be told.
export function readOptions(words) {
  const options = { long: false, list: false, seed: undefined, only: '', minutes: undefined }
  const rest = words.flatMap((word) => (word.startsWith('--') ? word.split('=') : [word]))
  while (rest.length > 0) {
    const word = rest.shift()
    if (word === '--long') options.long = true
    else if (word === '--list') options.list = true
    else if (word === '--seed') options.seed = Number(rest.shift())
    else if (word === '--minutes') options.minutes = Number(rest.shift())
    else if (word === '--only') options.only = rest.shift() ?? ''
    else throw new Error(`unknown option ${word}; there are --long, --list, --seed N, --minutes N and --only NAME`)
  }
  if (options.seed !== undefined && !Number.isInteger(options.seed)) throw new Error('--seed needs a whole number')
  if (options.minutes !== undefined && !(options.minutes >= 10 && options.long))
    throw new Error('--minutes needs a number of at least 10, and --long')
  // A run that was given no seed says which one it took, so that it can be repeated.
  options.seed ??= Date.now() % 1_000_000
  return options
}

/** How the minutes of a long run are shared out; the negative controls take what they need, less than two of them. */
const shares = { sweep: 0.38, campaigns: 0.25, scenarios: 0.15, soak: 0.17 }

/** The short run is one of ten minutes; on a busy machine fewer cases of the sweep fit into them. */
const shortSweepMs = 90_000

/** How long a part may take; for ever where nobody has said. */
export function timeFor(part, { minutes, only, long }) {
  if (minutes !== undefined) return minutes * 60_000 * (only ? 1 : shares[part])
  return part === 'sweep' && !long && !only ? shortSweepMs : Number.POSITIVE_INFINITY
}

/** Whether a part with names under this prefix has anything to do for --only. */
export function concerns(only, prefix) {
  return only.startsWith(prefix) || prefix.startsWith(only)
}
