// Writes what was measured down for people: as a page and as pictures.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { barsOf, drawChart } from './charts.mjs'
import { writePage } from './page.mjs'
import { withSizing } from './sizing.mjs'

const docs = new URL('../../docs/', import.meta.url)
const pictures = new URL('performance/', docs)

/** `missing`: groups of which there is no result yet. */
export function writeReport(results, rows, missing) {
  mkdirSync(pictures, { recursive: true })
  writeFileSync(new URL('performance.md', docs), writePage(results, rows, missing))
  const sizing = new URL('sizing.md', docs)
  writeFileSync(sizing, withSizing(readFileSync(sizing, 'utf8'), rows))
  const drawn = rows.filter((row) => barsOf(row).length > 0)
  const files = new Set(drawn.map((row) => `${row.name}.svg`))
  for (const name of readdirSync(pictures)) if (!files.has(name)) rmSync(new URL(name, pictures))
  for (const row of drawn) writeFileSync(new URL(`${row.name}.svg`, pictures), drawChart(row))
}
