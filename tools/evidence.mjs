// What a release asks of the reports of the fault bench.

/** The long run strikes at least as many faults in mixed campaigns. */
const mixedFaults = 5_000

/** What a report lacks to be the evidence for these sources. */
export function shortcomings({ length, source, failures, sweep, campaigns = {}, soak }, ours) {
  const make = length === 'long' ? 'npm run chaos -- --part all --resume' : 'npm run chaos -- --seed 2'
  if (source !== ours) return [`was made on ${source ?? 'sources it does not name'}, and src is ${ours}; ${make} makes it`]
  const found = failures.map(({ name }) => `says that ${name} failed`)
  if (length !== 'long') return found
  const struck = Object.entries(campaigns).reduce((sum, [name, faults]) => sum + (name.includes('/mixed/') ? faults : 0), 0)
  if (!sweep || sweep.cases < sweep.of)
    found.push(`has ${sweep?.cases ?? 0} of ${sweep?.of ?? 'all'} cases of the boundary sweep; ${make} goes on`)
  if (struck < mixedFaults)
    found.push(`has ${struck} faults of mixed campaigns, and ${mixedFaults} are asked for; ${make} goes on`)
  if (!(soak?.minutes >= 60)) found.push(`has no soak of an hour; ${make} goes on`)
  return found
}
