// What an asynchronous standby loses when it is promoted: everything the primary did after the last that it was sent.

const touchedSince = ({ entries }, from) => new Set(entries.filter(({ job, at }) => job && at >= from).map(({ job }) => job))

/** How many jobs were acknowledged from that moment to the promotion, and how many of them are not there afterwards. */
export function lossOf({ entries, jobs }, from) {
  const kept = new Set(jobs.map(({ id }) => id))
  const healed = entries.find(({ kind, at }) => kind === 'healed' && at > from).at
  const told = entries.filter(
    ({ kind, status, at }) => kind === 'acknowledged' && status === 'created' && at >= from && at < healed,
  )
  return { acknowledged: told.length, lost: told.filter(({ job }) => !kept.has(job)).length }
}

/**
 * The history of the jobs that nobody did anything to from that moment until the promotion: nothing of theirs may be missing or
 * done twice. A refusal is left out, because the job that stood for its key may be among the others.
 */
export function withoutLost(history, from) {
  const healed = history.entries.find(({ kind, at }) => kind === 'healed' && at > from).at
  const before = { entries: history.entries.filter(({ at }) => at <= healed) }
  const touched = touchedSince(before, from)
  const untouched = (job) => !touched.has(job)
  return {
    ...history,
    entries: history.entries.filter(({ kind, job, unique }) => untouched(job) && !(kind === 'refused' && unique)),
    jobs: history.jobs.filter(({ id }) => untouched(id)),
    attempts: history.attempts.filter(({ job }) => untouched(job)),
    counts: undefined,
  }
}
