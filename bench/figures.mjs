// Numbers of several rounds as one: the middle one, and how far the others lie from it.

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Rounds as they came, `[{ figure: value }]`, to `{ figure: { median, lowest, highest, rounds } }`. */
export function summarise(rounds) {
  const summary = {}
  for (const name of new Set(rounds.flatMap(Object.keys))) {
    const values = rounds.map((round) => round[name]).filter((value) => value !== undefined)
    summary[name] = { median: median(values), lowest: Math.min(...values), highest: Math.max(...values), rounds: values.length }
  }
  return summary
}

export function shown(value) {
  if (value === undefined || value === null) return '–'
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en')
  return value.toLocaleString('en', { maximumSignificantDigits: 3 })
}
