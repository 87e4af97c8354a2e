// The fuzz as a part of the run: seconds of it in the short one, its share of the minutes in the long one.
import { timeFor } from '../options.mjs'
import { quick, startServer } from '../server.mjs'
import { controls } from './controls.mjs'
import { fuzz, fuzzFor } from './fuzz.mjs'

/** Default, and what somebody may have set for the whole database: the product's own transactions must not care. */
const cases = ['read committed', 'repeatable read'].map((isolation) => ({
  name: `fuzz/${isolation.replace(' ', '-')}`,
  isolation,
}))
const shortMs = 40_000
const longMs = 30 * 60_000
/** A sequence whose moments decide need not fail at its first try. */
const triesToSeeAgain = 20

export const fuzzPart = {
  name: 'fuzz',
  list: async ({ only }) => [...controls, ...cases].map(({ name }) => name).filter((name) => name.startsWith(only)),
  async run(options, report) {
    const server = await startServer({ settings: quick })
    try {
      // Minutes, each of them: for the long run, or for whoever names them.
      const asked = options.long || options.only.startsWith('fuzz/control')
      for (const control of controls.filter(({ name }) => name.startsWith(options.only)))
        if (asked) await mustFail(server, control, options, report)
        else if (!options.only) report.skip(control.name, 'it is a part of the long run')
      const chosen = cases.filter(({ name }) => name.startsWith(options.only))
      for (const one of chosen) await mustHold(server, one, options, report, chosen.length)
    } finally {
      await server.stop()
    }
  },
}

async function mustHold(server, { name, isolation }, options, report, of) {
  const { seed, path, long, minutes } = options
  const given = { serverUrl: server.url, isolation, shrinkMs: 5 * 60_000 }
  if (path) return tell(report, name, await again({ ...given, seed, path }))
  const withinMs = minutes !== undefined ? timeFor('fuzz', options) / of : (long ? longMs : shortMs) / of
  const { runs, ms, failure } = await fuzzFor({ ...given, seed, withinMs })
  console.log(`${name}: ${runs} sequences in ${Math.round(ms / 1000)} s`)
  report.cases += runs
  report.fuzz[name] = { sequences: runs, seconds: Math.round(ms / 1000) }
  tell(report, name, failure)
}

async function again(given) {
  for (let tries = 0; tries < triesToSeeAgain; tries++) {
    const failure = await fuzz({ ...given, shrinkMs: 0 })
    if (failure) return failure
  }
  console.log(`  it did not fail in ${triesToSeeAgain} tries`)
}

function tell(report, name, failure) {
  if (!failure) return
  const { seed, path, commands, violations } = failure
  report.fail(name, violations)
  console.log(`  the shortest sequence that was found:\n${commands.map((command) => `    ${command}`).join('\n')}`)
  console.log(`  to see it again: npm run chaos -- fuzz --seed ${seed} --path ${path} --only ${name}`)
}

/** A defect that is put in must be found, and by the sentence it names. */
async function mustFail(server, control, { seed }, report) {
  const { name, says, ...given } = control
  const wanted = ({ violations }) => violations.some((sentence) => says.test(sentence))
  const { runs, ms, failure } = await fuzzFor({ serverUrl: server.url, seed, wanted, shrinkMs: 0, ...given })
  report.controls[name] = { caughtBy: failure ? 'fuzz' : null, also: [] }
  if (failure) console.log(`${name}: found after ${runs} sequences, ${Math.round(ms / 1000)} s`)
  else report.fail(name, [`this defect was not found in ${runs} sequences`])
}
