/** Nobody means a word that long, and the work grows with the product of both lengths. */
const longestWord = 64

/**
 * The known word a person most likely meant, or nothing when none is near. Case and the choice between - _ . and none
 * do not count, a swap of two neighbours counts once, and a third of the word may be wrong at most: a bold guess would
 * send the reader the wrong way, which is worse than no guess.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > longestWord) return undefined
  const meant = plain(word)
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    if (candidate.length > longestWord) continue
    const other = plain(candidate)
    const allowed = Math.min(3, Math.floor(Math.max(meant.length, other.length) / 3))
    if (Math.abs(meant.length - other.length) > allowed) continue
    const apart = candidate === word ? -1 : distance(meant, other)
    if (apart <= allowed && apart < bestDistance) {
      best = candidate
      bestDistance = apart
    }
  }
  return best
}

/** To put behind a sentence: '' or ' (did you mean "send_email"?)'. */
export function didYouMean(word: string, known: readonly string[]): string {
  const meant = nearest(word, known)
  return meant === undefined ? '' : ` (did you mean "${meant}"?)`
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[-_. ]/g, '')
}

/** Insertions, deletions, replacements and swaps of neighbours between two words; three rows are all it needs to keep. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(cell(last, j) + 1, cell(row, j - 1) + 1, cell(last, j - 1) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, cell(beforeLast, j - 2) + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return cell(last, b.length)
}

function cell(row: readonly number[], at: number): number {
  return row[at] ?? Number.POSITIVE_INFINITY
}
