// What `npm run chaos` can be told.
export function readOptions(words) {
  const options = {
    long: false,
    list: false,
    seed: undefined,
    only: '',
    minutes: undefined,
    path: undefined,
    part: undefined,
    resume: false,
  }
  const rest = words.flatMap((word) => (word.startsWith('--') ? word.split('=') : [word]))
  while (rest.length > 0) {
    const word = rest.shift()
    if (word === '--long') options.long = true
    else if (word === '--list') options.list = true
    else if (word === '--seed') options.seed = Number(rest.shift())
    else if (word === '--minutes') options.minutes = Number(rest.shift())
    else if (word === '--only') options.only = rest.shift() ?? ''
    else if (word === '--path') options.path = rest.shift()
    else if (word === '--part') options.part = rest.shift() ?? 'all'
    else if (word === '--resume') options.resume = true
    // A bare word is a part.
    else if (!word.startsWith('-')) options.only ||= `${word}/`
    else
      throw new Error(
        `unknown option ${word}; there are --long, --list, --seed N, --minutes N, --only NAME, --path PATH, --part NAME and --resume`,
      )
  }
  if (options.seed !== undefined && !Number.isInteger(options.seed)) throw new Error('--seed needs a whole number')
  const alone = options.only.startsWith('fuzz')
  if (options.minutes !== undefined && !(options.minutes >= (alone ? 1 : 10) && (alone || options.long)))
    throw new Error('--minutes needs a number of at least 10, and --long; the fuzz alone needs neither')
  if (options.path !== undefined && !alone) throw new Error('--path is for a sequence of the fuzz')
  if (options.resume && options.part === undefined) throw new Error('--resume goes with --part')
  if (options.part !== undefined && (options.only || options.long || options.minutes !== undefined))
    throw new Error('--part says which part of the long run; it goes with --seed and --resume alone')
  // What is resumed has to be the same run.
  if (options.part !== undefined) options.seed ??= 1
  // A run that was given no seed says which one it took, so that it can be repeated.
  options.seed ??= Date.now() % 1_000_000
  return options
}

/** How the minutes of a long run are shared out; the negative controls take what they need, less than two of them. */
const shares = { sweep: 0.33, campaigns: 0.22, scenarios: 0.13, soak: 0.15, fuzz: 0.12 }

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
