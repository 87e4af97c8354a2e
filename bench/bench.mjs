// One run: the server, the groups one after the other, the report.

import { describeCode, describeMachine, describeVersions, untilQuiet, watchOthers } from './machine.mjs'
import { measure } from './measure.mjs'
import { dismissGuard } from './processes.mjs'
import { redisVersion } from './redis.mjs'
import { printTable } from './report/table.mjs'
import { writeReport } from './report/write.mjs'
import { isMeasured, readResults, rowsOf, withGroup, writeResults } from './results.mjs'
import { groups } from './rows/index.mjs'
import { settings, startServer } from './server.mjs'
import { systems } from './systems/index.mjs'

const limitMs = { quick: 120_000, short: 120_000, full: 900_000 }

/**
 * Returns the exit code: 1 where something could not be measured. A bar that is missed is a result and no failure. `resume`: what was
 * measured on the same code and at the same size is left out.
 */
export async function runBench({ names, sizeName, rounds, verbose, resume }) {
  const unknown = names.filter((name) => !groups.some((group) => answersTo(group, name)))
  if (unknown.length > 0) {
    const known = groups.flatMap((group) => [group.name, ...group.rows.map((row) => row.name)])
    console.error(`there is nothing named ${unknown.join(', ')}; there are ${[...new Set(known)].join(', ')}`)
    return 1
  }
  const sizeOf = (group) => ({ ...group.sizes[sizeName], ...(rounds ? { rounds: Number(rounds) } : {}) })
  const machine = describeMachine()
  const earlier = readResults({ machine, settings })
  const code = describeCode()
  const chosen = groups
    .filter((group) => names.length === 0 || names.some((name) => answersTo(group, name)))
    .filter((group) => !resume || !isMeasured(earlier, group, { tree: code.tree, run: sizeName, size: sizeOf(group) }))
  if (chosen.length > 1 && sizeName !== 'quick') await untilQuiet()
  const begun = performance.now()
  const server = await startServer()
  const bench = { server, verbose, limitMs: limitMs[sizeName] }
  let results = { ...earlier, versions: describeVersions(server.version, redisVersion()), systems }
  const problems = []
  try {
    for (const group of chosen) {
      const measured = await measureOne(group, bench, sizeOf(group), (line) => say(begun, line))
      problems.push(...measured.problems)
      results = withGroup(results, groups, group.name, { ...code, run: sizeName, ...measured })
      // What is of toy sizes must not stand where people look for figures.
      if (sizeName === 'quick') continue
      const rows = rowsOf(results, groups)
      writeResults(results, rows)
      writeReport(results, rows, missing(results))
    }
  } finally {
    await server.stop()
    await dismissGuard()
  }
  print(results, chosen, code, begun)
  for (const problem of problems) console.log(`\nnot measured: ${problem}`)
  if (sizeName === 'quick') console.log('\nNot written down: bench/results and docs/performance.md are not for toy sizes.')
  return problems.length === 0 ? 0 : 1
}

const answersTo = (group, name) => group.name === name || group.rows.some((row) => row.name === name)
const missing = (results) => groups.filter((group) => !results.groups[group.name]).map((group) => group.name)

async function measureOne(group, bench, size, say) {
  const othersSince = watchOthers(bench.server.cpuMs)
  const begun = performance.now()
  const { figures, problems } = await measure(group, bench, size, say)
  const seconds = Math.round((performance.now() - begun) / 1_000)
  return { date: new Date().toISOString(), seconds, others: othersSince(), size, problems, figures }
}

function print(results, chosen, { commit, tree }, begun) {
  const list = (pairs) =>
    Object.entries(pairs)
      .map((pair) => pair.join(' '))
      .join(', ')
  const { machine, versions } = results
  console.log(`\n${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB\n${list(versions)}`)
  console.log(
    `commit ${commit}, src ${tree}, ${Math.round((performance.now() - begun) / 6_000) / 10} minutes; ${list(settings)}\n`,
  )
  printTable(rowsOf(results, chosen))
  const ofEach = (figure) => list(Object.fromEntries(chosen.map(({ name }) => [name, results.groups[name]?.[figure] ?? '–'])))
  console.log(`\nseconds: ${ofEach('seconds')}`)
  console.log(`taken by others meanwhile, % of all cores: ${ofEach('others')}`)
}

function say(begun, line) {
  const seconds = Math.round((performance.now() - begun) / 1000)
  process.stderr.write(`${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}  ${line}\n`)
}
