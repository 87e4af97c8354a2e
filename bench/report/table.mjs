// The rows as text, for a terminal.
import { shown } from '../figures.mjs'

export function printTable(entries) {
  const lines = [['', 'holdfast', 'ratio', 'bar', '']]
  for (const entry of entries) {
    const spread = entry.spread === null ? '' : ` ±${entry.spread} %`
    const [first, ...more] = entry.bars.length > 0 ? entry.bars : [undefined]
    lines.push([`${entry.title} (${entry.unit})`, `${shown(entry.holdfast)}${spread}`, ...barCells(first)])
    const others = Object.entries({ ...entry.peers, ...floorsOf(entry), ...entry.others })
    for (let i = 0; i < Math.max(more.length, Math.ceil(others.length / 2)); i++) {
      const pair = others.slice(2 * i, 2 * i + 2).map(([name, value]) => `${name} ${shown(value)}`)
      lines.push([`    ${pair.join(', ')}`, '', ...barCells(more[i])])
    }
  }
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  for (const line of lines)
    console.log(
      line
        .map((cell, i) => cell.padEnd(widths[i] + 2))
        .join('')
        .trimEnd(),
    )
}

export const floorsOf = (entry) =>
  Object.fromEntries(Object.entries(entry.floors).map(([name, value]) => [`floor: ${name}`, value]))

function barCells(bar) {
  return bar ? [shown(bar.ratio), bar.text, bar.met ? 'met' : bar.stretch ? 'not reached' : 'NOT MET'] : ['', '', '']
}
