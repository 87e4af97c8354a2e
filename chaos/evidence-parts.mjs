// The evidence of a release: the long run in parts of two hours at most. Each part has a report of its own in results/parts, and the reports of
// one src add up to results/long.json, so that a run that is interrupted loses one part.
import { existsSync, readFileSync } from 'node:fs'
import { mergeReports } from './merge.mjs'
import { describeVersions, Report, writeReport } from './report.mjs'

const long = (name, only, more = {}) => ({ name, options: { long: true, only, ...more } })

/** Ninety-nine mixed campaigns strike more than 5,000 faults; every special one is run ten times, each time with another seed. */
export const evidenceParts = [
  long('controls', 'controls/'),
  long('sweep', 'sweep/'),
  long('mixed-1', 'campaigns/mixed/', { mixed: [1, 33] }),
  long('mixed-2', 'campaigns/mixed/', { mixed: [34, 66] }),
  long('mixed-3', 'campaigns/mixed/', { mixed: [67, 99] }),
  long('special-1', 'campaigns/', { mixed: [1, 0], rounds: [1, 5] }),
  long('special-2', 'campaigns/', { mixed: [1, 0], rounds: [6, 10] }),
  long('scenarios', 'scenarios/'),
  long('fuzz', 'fuzz/', { minutes: 30 }),
  long('soak', 'soak/steady'),
  long('producer', 'soak/producer'),
]

const reportOf = (name) => new URL(`./results/parts/${name}.json`, import.meta.url)
const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined)

/** Runs the parts that are asked for, all of them by default; with `resume` without those that are done. Resolves with whether all passed. */
export async function runEvidence({ part, resume, seed }, runParts) {
  const asked = evidenceParts.filter(({ name }) => part === 'all' || name === part)
  if (asked.length === 0)
    throw new Error(`no part is named ${part}; there are all, ${evidenceParts.map(({ name }) => name).join(', ')}`)
  for (const { name, options } of asked) {
    const versions = describeVersions()
    if (resume && isDone(read(reportOf(name)), versions.source, seed)) {
      console.log(`${name} is done`)
      continue
    }
    const report = new Report({ ...options, seed }, versions)
    await runParts({ ...options, seed }, report)
    if (describeVersions().source !== versions.source)
      throw new Error(`src was changed while ${name} ran: its report is not kept`)
    report.print()
    report.write(reportOf(name))
  }
  const ofThese = evidenceParts
    .map(({ name }) => read(reportOf(name)))
    .filter((report) => report?.source === describeVersions().source)
  writeReport(new URL('./results/long.json', import.meta.url), mergeReports(ofThese))
  return ofThese.every(({ failures }) => failures.length === 0)
}

/** Whether a part need not be run again: the same sources and seed, and nothing failed. */
export const isDone = (report, source, seed) =>
  report !== undefined && report.source === source && report.seed === seed && report.failures.length === 0
