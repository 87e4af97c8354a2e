// What `npm run mutate` runs: one change in one function at a time, and the tests that it concerns until one fails. What survives them all
// is either a test that is missing, or a change that makes no difference.
import { existsSync, readFileSync } from 'node:fs'
import { Holdfast } from 'holdfast'
import { describeVersions, writeReport } from '../report.mjs'
import { seeded, shuffled } from '../seeded.mjs'
import { startServer } from '../server.mjs'
import { sqlFunctions } from './functions.mjs'
import { Judge } from './judge.mjs'
import { kinds } from './kinds.mjs'
import { mutantsOf } from './mutants.mjs'
import { readOptions } from './options.mjs'
import { Sandbox } from './sandbox.mjs'
import { chooser } from './tests.mjs'

const result = new URL('../results/mutation.json', import.meta.url)
const settings = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off', max_connections: '300', shared_buffers: '256MB' }

const options = readOptions(process.argv.slice(2))
const functions = sqlFunctions()
const testsOf = chooser(functions, options.whole)
const all = functions.flatMap(mutantsOf)
const chosen = inTurns(all.filter(({ id }) => id.startsWith(options.only)))
if (options.list) for (const { id, says } of all) console.log(`${id}  ${says}`)
else await run()

/** By chance, and every kind as often as the others: there are few locks, and what they prevent is hardest to see. */
function inTurns(mutants) {
  const mixed = shuffled(mutants, seeded(options.seed))
  const turns = Object.keys(kinds).map((kind) => mixed.filter((mutant) => mutant.kind === kind))
  const longest = Math.max(...turns.map(({ length }) => length))
  return Array.from({ length: longest }, (_, turn) => turns.flatMap((of) => of[turn] ?? [])).flat()
}

async function run() {
  const versions = describeVersions()
  const report = begun(versions)
  const until = Date.now() + options.minutes * 60_000
  const server = await startServer({ settings })
  const sandbox = new Sandbox(server.url)
  process.once('exit', () => sandbox.close())
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  const holdfast = new Holdfast({ connectionString: server.url })
  await holdfast.migrate()
  await holdfast.close()
  const judge = new Judge(server.url, sandbox, testsOf)
  try {
    for (const mutant of chosen) {
      if (report.mutants[mutant.id]) continue
      if (Date.now() > until) break
      const { id, kind, file, says } = mutant
      const verdict = await judge.try(mutant)
      report.mutants[id] = { kind, file, says, ...verdict }
      console.log(`${verdict.status.padEnd(8)} ${id}: ${says}${verdict.by ? `\n         ${verdict.by}` : ''}`)
      writeReport(result, { ...report, finished: new Date().toISOString() })
    }
  } finally {
    sandbox.close()
    await server.stop()
  }
  const found = Object.values(report.mutants).map(({ status }) => status)
  const count = (status) => found.filter((one) => one === status).length
  console.log(
    `\nseed ${options.seed}: ${count('killed')} killed, ${count('survived')} survived, ${count('late')} late, ${count('invalid')} invalid`,
  )
}

/** The report of an earlier run on the same sources, which this one goes on with, or a new one. */
function begun(versions) {
  const { seed } = options
  const earlier = options.resume && existsSync(result) ? JSON.parse(readFileSync(result, 'utf8')) : undefined
  const mutants = earlier?.seed === seed && earlier.source === versions.source ? earlier.mutants : {}
  const possible = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, all.filter((one) => one.kind === kind).length]))
  return { seed, ...versions, functions: functions.length, possible, mutants }
}
