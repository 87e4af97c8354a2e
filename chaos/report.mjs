// What a run found, gathered while it goes and written at its end.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { builtTree, sourceTree } from '../tools/source-tree.mjs'
import { invariants } from './check/checker.mjs'

/** What was tested, and on what; the load before is whatever else the machine was doing. */
export function describeVersions() {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const loadBefore = Math.round(loadavg()[0] * 100) / 100
  const root = fileURLToPath(new URL('..', import.meta.url))
  const source = sourceTree(root)
  const built = builtTree(root)
  if (built !== source) throw new Error(`dist was built from ${built ?? 'other sources'}, and src is ${source}: npm run build`)
  return { holdfast: version, source, node: process.version, cores: cpus().length, loadBefore }
}

/** What a violation was found in: moments differ from run to run, so that it may not show again. */
function keep(name, history) {
  const file = new URL(`./results/failed/${name.replaceAll('/', '.')}.json`, import.meta.url)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(history, null, 1)}\n`)
  console.log(`  its ledger and the state of its database are in chaos/results/failed/${name.replaceAll('/', '.')}.json`)
}

/** Whole or not at all: a part that is interrupted must not leave half a report. */
export function writeReport(file, result) {
  mkdirSync(new URL('.', file), { recursive: true })
  const beside = new URL(`${file.href}.tmp`)
  writeFileSync(beside, `${JSON.stringify(result, null, 2)}\n`)
  renameSync(beside, file)
}

export class Report {
  #begun = performance.now()
  faults = {}
  acknowledged = 0
  executions = 0
  cases = 0
  scenarios = {}
  controls = {}
  /** How many cases were run of how many there are, and of how many operations. */
  sweep = undefined
  soak = undefined
  /** How many sequences of the fuzz were run, and for how long. */
  fuzz = {}
  /** The campaigns, by name, and how many faults each struck: the whole long run promises a number. */
  campaigns = {}
  /** What the asynchronous standby lost, as it must. */
  asynchronousLoss = undefined
  notRun = []
  failures = []
  invariants = Object.fromEntries(
    Object.entries(invariants).map(([name, { says }]) => [name, { says, checked: 0, violations: 0 }]),
  )

  constructor(options, versions) {
    this.options = options
    this.versions = versions
  }

  fault(kind, times = 1) {
    this.faults[kind] = (this.faults[kind] ?? 0) + times
  }

  get struck() {
    return Object.values(this.faults).reduce((sum, times) => sum + times, 0)
  }

  /** One case or campaign with what its checker said. `facts` are violations beyond the invariants; `history` is the evidence. */
  add(name, { verdicts, facts = [], acknowledged = 0, executions = 0, history }) {
    this.cases += 1
    this.acknowledged += acknowledged
    this.executions += executions
    const found = [...facts]
    for (const [invariant, { checked, violations }] of Object.entries(verdicts)) {
      this.invariants[invariant].checked += checked
      this.invariants[invariant].violations += violations.length
      found.push(...violations.slice(0, 5).map((text) => `${invariant}: ${text}`))
    }
    this.fail(name, found)
    if (found.length > 0 && history) keep(name, history)
    return found
  }

  fail(name, found) {
    if (found.length === 0) return
    this.failures.push({ name, violations: found })
    for (const text of found) console.log(`  ✗ ${name}: ${text}`)
  }

  skip(name, why) {
    this.notRun.push({ name, why })
    console.log(`  - ${name} was not run: ${why}`)
  }

  get seconds() {
    return Math.round((performance.now() - this.#begun) / 1000)
  }

  write(file) {
    const {
      options,
      versions,
      seconds,
      cases,
      faults,
      sweep,
      scenarios,
      controls,
      soak,
      fuzz,
      campaigns,
      asynchronousLoss,
      notRun,
      failures,
    } = this
    const { seed, long, only, minutes } = options
    const result = {
      seed, length: long ? 'long' : 'short', ...(minutes ? { minutes } : {}), ...(only ? { only } : {}), finished: new Date().toISOString(), ...versions, seconds, cases, faults, jobsAcknowledged: this.acknowledged,
      executions: this.executions, ...(sweep ? { sweep } : {}), invariants: this.invariants, campaigns, scenarios, controls, fuzz, ...(soak ? { soak } : {}), asynchronousLoss, notRun, failures,
    } // biome-ignore format: the order of the report
    writeReport(file, result)
  }

  print() {
    const violated = Object.values(this.invariants).reduce((sum, { violations }) => sum + violations, 0)
    const untested = Object.entries(this.invariants).filter(([, { checked }]) => checked === 0)
    console.log(
      `\nseed ${this.options.seed}, ${this.seconds} s: ${this.struck} faults, ${this.acknowledged} jobs acknowledged, ${this.executions} executions`,
    )
    console.log(`violations of invariants: ${violated}; failed: ${this.failures.length}`)
    if (untested.length > 0) console.log(`not put to the test: ${untested.map(([name]) => name).join(', ')}`)
    for (const { name, why } of this.notRun) console.log(`not run: ${name} (${why})`)
    for (const { name } of this.failures)
      console.log(`to see it again: npm run chaos -- --seed ${this.options.seed} --only ${name}`)
  }
}
