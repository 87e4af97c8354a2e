// The sweep as a part of the run: all cases in the long run, a seeded sample of them in the short one.
import { eachAtOnce, within } from '../at-once.mjs'
import { concerns } from '../options.mjs'
import { sample, seeded } from '../seeded.mjs'
import { quick, startServer } from '../server.mjs'
import { operations } from './operations.mjs'
import { casesOf, runCase } from './sweep.mjs'

/** Cases mostly wait: for a timeout, for a lease to run out. */
const atOnce = 20
const inShortRun = 160

export const sweep = {
  name: 'sweep',
  async list(options) {
    const server = await startServer({ settings: quick })
    try {
      return (await chosenCases(server, options)).map(({ name }) => name)
    } finally {
      await server.stop()
    }
  },
  async run(options, report) {
    const server = await startServer({ settings: quick })
    try {
      const cases = await chosenCases(server, options)
      console.log(`sweep: ${cases.length} cases`)
      await eachAtOnce(cases, atOnce, async (one) => {
        const found = await within(120_000, one.name, runCase(server, one)).catch((error) => ({
          verdicts: {},
          facts: [`the case broke: ${error.stack}`],
        }))
        report.fault(`message ${one.at.fault}`)
        report.add(one.name, found)
      })
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
  if (long || only.startsWith('sweep/')) return all
  return sample(all, inShortRun, ({ operation, at }) => `${operation.name} ${at.side} ${at.fault}`, seeded(seed))
}
