// Whether something stayed flat: the last quarter of the samples against the second one. The first is for warming up.

/** Growth from the second quarter to the last, as a share; what is too small to matter counts as nothing. */
export function growth(values, floor = 0) {
  const quarter = Math.floor(values.length / 4)
  if (quarter === 0) return 0
  const middle = (from) => {
    const sorted = values.slice(from, from + quarter).sort((a, b) => a - b)
    return Math.max(floor, sorted[sorted.length >> 1])
  }
  const [early, late] = [middle(quarter), middle(values.length - quarter)]
  return early === 0 ? (late === 0 ? 0 : Number.POSITIVE_INFINITY) : late / early - 1
}

/** Every series with its growth, and whether that is within what it may be. */
export function judge(samples, series) {
  return Object.fromEntries(
    Object.entries(series).map(([name, { most, floor }]) => {
      const values = samples.map((sample) => sample[name])
      const grown = growth(values, floor)
      return [name, { first: values[0], last: values.at(-1), growth: Math.round(grown * 1000) / 1000, flat: grown <= most }]
    }),
  )
}
