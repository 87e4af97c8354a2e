// One report of several, each of a part of the long run on the same sources.

/** Adds up what can be added; what belongs to one part alone is taken from that. */
export function mergeReports(reports) {
  const [first] = reports
  if (!first) throw new Error('there is no report to merge')
  const others = new Set(reports.map(({ source }) => source))
  if (others.size > 1) throw new Error(`these reports are of several sources: ${[...others].join(', ')}`)
  const { only, minutes, ...shared } = first
  return {
    ...shared,
    finished: reports
      .map(({ finished }) => finished)
      .sort()
      .at(-1),
    loadBefore: Math.max(...reports.map(({ loadBefore }) => loadBefore)),
    ...added(reports, ['seconds', 'cases', 'jobsAcknowledged', 'executions']),
    faults: addedByName(reports.map(({ faults }) => faults)),
    ...taken(reports, ['sweep', 'soak', 'asynchronousLoss']),
    invariants: invariantsOf(reports),
    ...joined(reports, ['campaigns', 'scenarios', 'controls', 'fuzz']),
    notRun: reports.flatMap(({ notRun }) => notRun),
    failures: reports.flatMap(({ failures }) => failures),
  }
}

const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0)
const added = (reports, names) => Object.fromEntries(names.map((name) => [name, sum(reports.map((report) => report[name]))]))
const joined = (reports, names) =>
  Object.fromEntries(names.map((name) => [name, Object.assign({}, ...reports.map((report) => report[name]))]))

function taken(reports, names) {
  const found = names.map((name) => [name, reports.map((report) => report[name]).findLast((value) => value !== undefined)])
  return Object.fromEntries(found.filter(([, value]) => value !== undefined))
}

function addedByName(records) {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))]
  return Object.fromEntries(names.map((name) => [name, sum(records.map((record) => record[name]))]))
}

function invariantsOf(reports) {
  return Object.fromEntries(
    Object.entries(reports[0].invariants).map(([name, { says }]) => {
      const all = reports.map(({ invariants }) => invariants[name])
      return [name, { says, ...added(all, ['checked', 'violations']) }]
    }),
  )
}
