// npm run chaos [-- --long [--minutes N]] [--seed N] [--only NAME] [--list] [fuzz --seed N [--path PATH]] [--part NAME [--resume]]: breaks everything that can be broken and holds what is left
// against the invariants. README.md in this folder is the map.
import { campaigns } from './campaign/part.mjs'
import { controlsPart } from './controls/part.mjs'
import { runEvidence } from './evidence-parts.mjs'
import { fuzzPart } from './fuzz/part.mjs'
import { concerns, readOptions } from './options.mjs'
import { describeVersions, Report } from './report.mjs'
import { scenariosPart } from './scenarios/part.mjs'
import { soak } from './soak/part.mjs'
import { sweep } from './sweep/part.mjs'

const parts = [controlsPart, sweep, fuzzPart, campaigns, scenariosPart, soak]

// Each control, server and process that is under way ends with us.
process.setMaxListeners(100)

// Whatever a part started is ended by its own exit handlers.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const options = readOptions(process.argv.slice(2))
const chosen = parts.filter(({ name }) => concerns(options.only, `${name}/`))
if (chosen.length === 0)
  throw new Error(`nothing is named ${options.only}; there are ${parts.map(({ name }) => name).join(', ')}`)

if (options.list) {
  for (const part of chosen) for (const name of await part.list({ ...options, long: true })) console.log(name)
} else if (options.part !== undefined) {
  process.exit((await runEvidence(options, runParts)) ? 0 : 1)
} else {
  const report = new Report(options, describeVersions())
  console.log(`seed ${options.seed}`)
  await runParts(options, report)
  report.print()
  // A part of the run is no report of the whole; of the soak it is, since nothing else belongs to it.
  const names = options.only ? [report.soak ? 'soak' : 'part'] : ['latest', options.long ? 'long' : 'short']
  for (const name of names) report.write(new URL(`./results/${name}.json`, import.meta.url))
  // What a case that stood still has left open must not keep the run alive.
  process.exit(report.failures.length === 0 ? 0 : 1)
}

async function runParts(options, report) {
  for (const part of parts.filter(({ name }) => concerns(options.only, `${name}/`))) {
    const begun = performance.now()
    await part.run(options, report)
    console.log(`${part.name}: ${Math.round((performance.now() - begun) / 1000)} s`)
  }
}
