// npm run bench [-- --quick] [-- --rounds=5] [-- --only=drain,bareDrain]: measures the built package on a Postgres of its own.
import { mkdirSync, writeFileSync } from 'node:fs'
import { bareDrain, drain, heldDrain } from './draining.mjs'
import { bulk, single } from './enqueueing.mjs'
import { printTable, summarise } from './figures.mjs'
import { describeMachine, describeVersions } from './machine.mjs'
import { idle, latency } from './resting.mjs'
import { settings, startServer } from './server.mjs'

const all = { bulk, single, drain, bareDrain, heldDrain, latency, idle }
const options = Object.fromEntries(process.argv.slice(2).map((word) => word.replace(/^--/, '').split('=')))
const quick = 'quick' in options
const names = options.only ? options.only.split(',') : Object.keys(all)
const measures = names.map((name) => all[name] ?? unknown(name))
const size = quick
  ? { jobs: 20_000, singles: 200, latencies: 50, idleMs: 3_000 }
  : { jobs: 60_000, singles: 500, latencies: 150, idleMs: 8_000 }
const rounds = Number(options.rounds ?? (quick ? 1 : 3))

const server = await startServer()
try {
  const seen = []
  // Round by round and not measure by measure: whatever else the machine does then hits all of them alike.
  for (let round = 1; round <= rounds; round++) {
    const found = {}
    for (const [i, measure] of measures.entries()) {
      process.stderr.write(`\rround ${round} of ${rounds}: ${names[i]}          `)
      Object.assign(found, await measure.measure(server, size))
    }
    seen.push(found)
  }
  process.stderr.write('\r                                        \r')
  report(summarise(seen))
} finally {
  await server.stop()
}

function report(figures) {
  const machine = describeMachine()
  const versions = describeVersions(server.version)
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; Postgres ${versions.postgres}, Node ${versions.node},`,
  )
  console.log(
    `commit ${versions.commit}; ${Object.entries(settings)
      .map((setting) => setting.join(' '))
      .join(', ')}\n`,
  )
  printTable(measures, figures)
  mkdirSync(new URL('./results/', import.meta.url), { recursive: true })
  const result = { machine, versions, settings, rounds, size, figures }
  writeFileSync(new URL('./results/latest.json', import.meta.url), `${JSON.stringify(result, null, 2)}\n`)
}

function unknown(name) {
  throw new Error(`there is no measure named ${name}; there are ${Object.keys(all).join(', ')}`)
}
