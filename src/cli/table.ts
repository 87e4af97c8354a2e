/** A column of a table for people. */
export interface Column {
  head: string
  /** Numbers stand to the right. */
  right?: boolean
  /** May be cut where the terminal is narrow; the others, such as ids, are never cut. */
  cut?: boolean
}

const gap = '  '
/** A column that is cut keeps this much. */
const narrowest = 8

/** Rows in columns of one width. `width`: how much fits into a line; undefined: as much as there is. Columns without any text are left out. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], width: number | undefined): string[] {
  const used = columns.map((_, at) => at).filter((at) => rows.some((row) => (row[at] ?? '') !== ''))
  for (;;) {
    const shown = used.map((at) => columns[at] as Column)
    const cells = [shown.map(({ head }) => head), ...rows.map((row) => used.map((at) => oneLine(row[at] ?? '')))]
    const widths = fitted(shown, cells, width)
    const last = shown.findLastIndex(({ cut }) => cut)
    // Where nothing can be cut any more, the last column that may be cut is left out.
    if (width !== undefined && lineOf(widths) > width && last > 0) {
      used.splice(last, 1)
      continue
    }
    return cells.map((row) => {
      const parts = row.map((text, at) => padded(cutTo(text, widths[at] as number), widths[at] as number, shown[at] as Column))
      return parts.join(gap).trimEnd()
    })
  }
}

function lineOf(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, gap.length * (widths.length - 1))
}

/** The width of each column: as wide as its widest cell, and less of the widest that may be cut until the line fits. */
function fitted(columns: readonly Column[], cells: readonly (readonly string[])[], width: number | undefined): number[] {
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => [...(row[at] as string)].length)))
  while (width !== undefined && lineOf(widths) > width) {
    const wide = columns.flatMap(({ cut }, at) => (cut && (widths[at] as number) > narrowest ? [at] : []))
    if (wide.length === 0) break
    const widest = wide.reduce((most, at) => ((widths[at] as number) > (widths[most] as number) ? at : most))
    widths[widest] = (widths[widest] as number) - 1
  }
  return widths
}

/** Texts of users may have line breaks and control characters, which would break the table or the terminal. */
export function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}

/** A text in lines that fit; those after the first begin under its text. `width`: undefined where nothing cuts a line. */
export function wrapped(text: string, width: number | undefined, first: string): string[] {
  if (width === undefined) return [first + text]
  const lines: string[] = []
  let line = first
  const rest = ' '.repeat([...first].length)
  for (const word of text.split(' ')) {
    const full = line !== first && line !== rest && [...line].length + 1 + [...word].length > width
    if (full) {
      lines.push(line)
      line = rest
    }
    line += line === first || line === rest ? word : ` ${word}`
  }
  return [...lines, line]
}

export function cutTo(text: string, width: number): string {
  const letters = [...text]
  return letters.length <= width ? text : `${letters.slice(0, Math.max(0, width - 1)).join('')}…`
}

function padded(text: string, width: number, { right }: Column): string {
  const space = ' '.repeat(width - [...text].length)
  return right ? space + text : text + space
}
