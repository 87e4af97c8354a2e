// npm run sizing -- --rate 200 --seconds 0.5: what an installation needs. --write: the tables of docs/sizing.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { assumed, figuresOf, missingOf, sizingTables, withSizing } from '../bench/report/sizing.mjs'

const { rows } = JSON.parse(readFileSync(new URL('../bench/results/latest.json', import.meta.url), 'utf8'))
const page = new URL('../docs/sizing.md', import.meta.url)
const names = Object.keys(assumed)
const { values } = parseArgs({
  options: { write: { type: 'boolean' }, ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])) },
})
const given = {
  ...assumed,
  ...Object.fromEntries(names.filter((name) => values[name]).map((name) => [name, Number(values[name])])),
}
const wrong = names.filter((name) => !(given[name] >= 0) || (given[name] === 0 && ['rate', 'slots', 'days'].includes(name)))
const missing = missingOf(rows)
if (missing.length > 0 || wrong.length > 0) {
  if (missing.length > 0) console.error(`not measured yet: ${missing.join(', ')}; npm run bench measures them`)
  for (const name of wrong) console.error(`--${name} is "${values[name]}"; a number above 0 is needed`)
  process.exitCode = 2
} else if (values.write) writeFileSync(page, withSizing(readFileSync(page, 'utf8'), rows))
else console.log(sizingTables(given, figuresOf(rows)))
