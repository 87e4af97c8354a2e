// Writes a whole run down: as data, as a page, as pictures.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { barsOf, drawChart } from './charts.mjs'
import { writePage } from './page.mjs'

const results = new URL('../results/', import.meta.url)
const docs = new URL('../../docs/', import.meta.url)
const pictures = new URL('performance/', docs)

export function writeReport(result) {
  mkdirSync(results, { recursive: true })
  mkdirSync(pictures, { recursive: true })
  writeFileSync(new URL('latest.json', results), `${JSON.stringify(result, rounded, 2)}\n`)
  writeFileSync(new URL('performance.md', docs), writePage(result))
  for (const name of readdirSync(pictures)) rmSync(new URL(name, pictures))
  for (const row of result.rows.filter((one) => barsOf(one).length > 0)) {
    writeFileSync(new URL(`${row.name}.svg`, pictures), drawChart(row))
  }
}

/** More digits than were measured would only make two runs hard to compare. */
function rounded(_key, value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value
}
