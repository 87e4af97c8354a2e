// The sweep as a part of the run: all cases in the long run, a seeded sample of them in the short one.
import { eachAtOnce, within } from '../at-once.mjs'
import { concerns, timeFor } from '../options.mjs'
import { sample, seeded } from '../seeded.mjs'
import { quick, startServer } from '../server.mjs'
import { operations } from './operations.mjs'
import { casesOf, runCase } from './sweep.mjs'

/** Cases mostly wait: for a timeout, for a lease to run out. */
const atOnce = 20
const inShortRun = 200

export const sweep = {
  name: 'sweep',
  async list(options) {
    const server = await startServer({ settings: quick })
    try {
      return (await chosenCases(server, options)).cases.map(({ name }) => name)
    } finally {
      await server.stop()
    }
  },
  async run(options, report) {
    const server = await startServer({ settings: quick })
    try {
      const deadline = performance.now() + timeFor('sweep', options)
      const { cases, all } = await chosenCases(server, options)
      const swept = new Set(cases.map(({ operation }) => operation.name)).size
      report.sweep = { cases: 0, of: all, operations: swept }
      console.log(
        cases.length === all
          ? `sweep: all ${all} cases of ${swept} operations`
          : `sweep: a sample of ${cases.length} of the ${all} cases, chosen by the seed, of ${swept} operations; --long runs them all`,
      )
      await eachAtOnce(cases, atOnce, async (one) => {
        if (performance.now() > deadline) return
        report.sweep.cases += 1
        const found = await within(120_000, one.name, runCase(server, one)).catch((error) => ({
          verdicts: {},
          facts: [`the case broke: ${error.stack}`],
        }))
        if (found.unsent) {
          for (const count of ['cases', 'of']) report.sweep[count] -= 1
          return console.log(`sweep: ${one.name} is no case, because its message is sent only where the machine is busy`)
        }
        report.fault(`message ${one.at.fault}`)
        report.add(one.name, found)
      })
      if (report.sweep.cases < cases.length)
        console.log(
          `sweep: its time was over after ${report.sweep.cases} of ${cases.length} cases, in an order that the seed chose`,
        )
    } finally {
      await server.stop()
    }
  },
}

async function chosenCases(server, { only, long, seed }) {
  const concerned = operations.filter(({ name }) => concerns(only, `sweep/${name}/`))
  const found = []
  await eachAtOnce(concerned, atOnce, async (operation) => found.push(...(await casesOf(server, operation))))
  found.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
  const all = found.filter(({ name }) => name.startsWith(only))
  // Chance chooses the order, but within operations and not between them: a run whose time is over has seen something of all.
  const count = long || only.startsWith('sweep/') ? all.length : inShortRun
  const cases = sample(all, count, ({ operation }) => operation.name, seeded(seed))
  return { cases, all: all.length }
}
