// One run: the server, the groups one after the other, the report.

import { judge } from './judge.mjs'
import { describeMachine, describeVersions, readCommit, untilQuiet } from './machine.mjs'
import { measure } from './measure.mjs'
import { dismissGuard } from './processes.mjs'
import { redisVersion } from './redis.mjs'
import { printTable } from './report/table.mjs'
import { writeReport } from './report/write.mjs'
import { groups } from './rows/index.mjs'
import { settings, startServer } from './server.mjs'
import { systems } from './systems/index.mjs'

const limitMs = { quick: 120_000, short: 180_000, full: 900_000 }

/** Returns the exit code: 1 where something could not be measured. A bar that is missed is a result and no failure. */
export async function runBench({ names, sizeName, rounds, verbose }) {
  const chosen = names.length === 0 ? groups : groups.filter((group) => names.some((name) => answersTo(group, name)))
  const unknown = names.filter((name) => !groups.some((group) => answersTo(group, name)))
  if (unknown.length > 0) {
    const known = groups.flatMap((group) => [group.name, ...group.rows.map((row) => row.name)])
    console.error(`there is nothing named ${unknown.join(', ')}; there are ${[...new Set(known)].join(', ')}`)
    return 1
  }
  if (chosen === groups && sizeName !== 'quick') await untilQuiet()
  const machine = describeMachine()
  const begun = performance.now()
  const server = await startServer()
  const bench = { server, verbose, limitMs: limitMs[sizeName] }
  const entries = []
  const figures = {}
  const problems = []
  const seconds = {}
  try {
    for (const group of chosen) {
      const groupBegun = performance.now()
      const size = { ...group.sizes[sizeName], ...(rounds ? { rounds: Number(rounds) } : {}) }
      const found = await measure(group, bench, size, (line) => say(begun, line))
      problems.push(...found.problems)
      entries.push(...group.rows.map((row) => ({ ...judge(row, size, found.figures), size })))
      figures[group.name] = found.figures
      seconds[group.name] = Math.round((performance.now() - groupBegun) / 1_000)
    }
  } finally {
    await server.stop()
    await dismissGuard()
  }
  const result = {
    date: new Date().toISOString(),
    commit: readCommit(),
    run: sizeName,
    minutes: Math.round((performance.now() - begun) / 6_000) / 10,
    machine,
    versions: describeVersions(server.version, redisVersion()),
    settings,
    systems,
    problems,
    seconds,
    rows: entries,
    figures,
  }
  printResult(result)
  // A part of the table, or one of toy sizes, must not stand where people look for the whole.
  if (chosen === groups && sizeName !== 'quick') writeReport(result)
  else console.log('\nNot written down: bench/results and docs/performance.md are for whole runs.')
  return problems.length === 0 ? 0 : 1
}

const answersTo = (group, name) => group.name === name || group.rows.some((row) => row.name === name)

function printResult({ machine, versions, commit, rows, problems, run, minutes, seconds }) {
  console.log(`\n${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, load ${machine.loadBefore} before`)
  console.log(
    Object.entries(versions)
      .map((pair) => pair.join(' '))
      .join(', '),
  )
  console.log(
    `commit ${commit}, ${run} sizes, ${minutes} minutes; ${Object.entries(settings)
      .map((pair) => pair.join(' '))
      .join(', ')}\n`,
  )
  printTable(rows)
  console.log(
    `\nseconds: ${Object.entries(seconds)
      .map((pair) => pair.join(' '))
      .join(', ')}`,
  )
  for (const problem of problems) console.log(`\nnot measured: ${problem}`)
}

function say(begun, line) {
  const seconds = Math.round((performance.now() - begun) / 1000)
  process.stderr.write(`${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}  ${line}\n`)
}
