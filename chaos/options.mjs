// What `npm run chaos` can be told.
export function readOptions(words) {
  const options = { long: false, list: false, seed: undefined, only: '' }
  const rest = words.flatMap((word) => (word.startsWith('--') ? word.split('=') : [word]))
  while (rest.length > 0) {
    const word = rest.shift()
    if (word === '--long') options.long = true
    else if (word === '--list') options.list = true
    else if (word === '--seed') options.seed = Number(rest.shift())
    else if (word === '--only') options.only = rest.shift() ?? ''
    else throw new Error(`unknown option ${word}; there are --long, --list, --seed N and --only NAME`)
  }
  if (options.seed !== undefined && !Number.isInteger(options.seed)) throw new Error('--seed needs a whole number')
  // A run that was given no seed says which one it took, so that it can be repeated.
  options.seed ??= Date.now() % 1_000_000
  return options
}

/** Whether a part with names under this prefix has anything to do for --only. */
export function concerns(only, prefix) {
  return only.startsWith(prefix) || prefix.startsWith(only)
}
