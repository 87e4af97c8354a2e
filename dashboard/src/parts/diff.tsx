interface DiffLine {
  readonly mark: ' ' | '+' | '-'
  readonly text: string
}

/** Two texts line by line: what goes, what comes, and what stays. */
export function Diff({ before, after }: { before: string; after: string }) {
  if (before === after) return <p className="soft">Nothing is different yet.</p>
  const lines = diffOf(before.split('\n'), after.split('\n'))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it
    <section className="diff" tabIndex={0} aria-label="What is different">
      {lines.map(({ mark, text }, position) => (
        <p key={position} data-mark={mark}>
          <span>{mark}</span> {mark !== ' ' && <span className="unseen">{mark === '+' ? 'comes:' : 'goes:'}</span>}
          {text}
        </p>
      ))}
    </section>
  )
}

/** The fewest lines that go and come (the longest common subsequence). Payloads have at most some thousand lines. */
export function diffOf(before: readonly string[], after: readonly string[]): DiffLine[] {
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1))
  const at = (row: number, column: number) => common[row]?.[column] ?? 0
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const same = before[row] === after[column]
      const length = same ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
      ;(common[row] as Uint16Array)[column] = length
    }
  }
  const lines: DiffLine[] = []
  let row = 0
  let column = 0
  while (row < before.length || column < after.length) {
    if (row < before.length && column < after.length && before[row] === after[column]) {
      lines.push({ mark: ' ', text: before[row] as string })
      row++
      column++
    } else if (column >= after.length || (row < before.length && at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ mark: '-', text: before[row] as string })
      row++
    } else {
      lines.push({ mark: '+', text: after[column] as string })
      column++
    }
  }
  return lines
}
