/** An option on the page about configuration. */
export interface ConfigurationRow {
  section: string
  name: string
  type: string
  otherwise: string
  range: string
  what: string
  /** It is a number or a time, or has one inside. */
  isNumber: boolean
}

export function configurationRows(page: string): ConfigurationRow[] {
  const [, options = ''] = page.split('\n## Options\n')
  return options.split('\n## ')[0]?.split('\n### ').slice(1).flatMap(rowsOf) ?? []
}

function rowsOf(text: string): ConfigurationRow[] {
  const section = text.split('\n')[0] as string
  return cellsOf(text).map(([option = '', type = '', otherwise = '', range = '', what = '']) => {
    const isNumber = /\bnumber\b|\bDuration\b|\bRate\b|\bBackoffOption\b/.test(type)
    return { section, name: option.replaceAll('`', ''), type, otherwise, range, what, isNumber }
  })
}

/** The cells of every row of a table, without its head. */
export function cellsOf(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
