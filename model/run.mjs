// npm run model: explores the model, then every variant with a defect. Fails where the model breaks an invariant, or a variant does not
// break the one it names.
import { spawnSync } from 'node:child_process'
import { explore } from './explore.mjs'
import { sizes, variants } from './variants.mjs'

const full = process.argv.includes('--full')
const missing = ['spin', 'cc'].filter((program) => spawnSync(program, [program === 'spin' ? '-V' : '--version']).error)
if (missing.length > 0) {
  console.error(
    `The model needs ${missing.join(' and ')}, which this machine does not have: apt-get install -y spin gcc libc6-dev`,
  )
  process.exit(1)
}

let failed = false
console.log('The model, every state of it\n')
row('', ['states', 'depth', 'seconds', 'MB', 'verdict'])
for (const { name, set } of [...sizes.small, ...(full ? sizes.full : [])]) {
  const found = await explore({ set, liveness: true, minutes: full ? 60 : 10, megabytes: full ? 12_000 : 2_000 })
  const verdict = found.caught ? `BREAKS ${found.caught}` : found.whole ? 'holds' : 'NOT EXPLORED WHOLE'
  report(name, found, verdict, verdict === 'holds')
  console.log(`  ${Object.entries(set).map((pair) => pair.join('=')).join(' ')}`) // biome-ignore format: one thought
}
console.log('\nVariants with a defect\n')
row('', ['states', 'depth', 'seconds', 'MB', 'caught by'])
for (const { name, set, caughtBy } of variants) {
  const found = await explore({ set, defect: name, liveness: false, minutes: 10, megabytes: 2_000 })
  const right = found.caught === caughtBy
  report(name, found, right ? caughtBy : `${found.caught ?? 'NOTHING'} INSTEAD OF ${caughtBy}`, right)
}
console.log(
  failed
    ? '\nThe model or a variant did not do what it should.'
    : `\nThe model holds; all ${variants.length} defects were caught.`,
)
process.exitCode = failed ? 1 : 0

function report(name, found, verdict, right) {
  row(name, [found.states, found.depth, found.seconds.toFixed(1), Math.round(found.megabytes), verdict])
  if (right) return
  failed = true
  console.log(found.output)
}

function row(name, columns) {
  console.log([name.padEnd(36), ...columns.map((column, at) => (at < 4 ? String(column).padStart(9) : `  ${column}`))].join(''))
}
