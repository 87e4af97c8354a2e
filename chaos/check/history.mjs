// The evidence as one value: what the ledger saw, and what the database says after everything has come to rest.

/**
 * @typedef {object} History
 * @property {object[]} entries   the ledger, in order
 * @property {object[]} jobs      { id, status, attempt, maxAttempts, payload, key, type } of every place a job stands in
 * @property {object[]} attempts  { job, attempt, outcome, startedAt, endedAt, worker } in the order they ended
 * @property {object} sessions    { idleInTransaction, leaked, locks, deadlocks }
 * @property {object[]} slots     { of, job } that are taken by jobs which do not run
 * @property {object[]} counts    { status, count } as the product reports them
 * @property {object[]} ticks     { schedule, tick, job }: of every job that was made for a tick, and of every tick that says it made one
 * @property {object[]} hurriedTicks { schedule, tick, earlyMs }: of every tick that was fired before its time, by the clock of the database
 * @property {object[]} executions { id, workflow, status, unread: news of an end is left }
 * @property {object[]} tasks     { execution, name, item, status, parents, sub, job }; item -1 is the task itself
 * @property {object[]} members   { group, task, item, job } of executions and batches
 * @property {object[]} batches   { id, status, round, live, completed, dead, cancelled, discarded } as the product reports them
 * @property {object[]} audit     { action, job, actor }
 * @property {object} promises    what this run may expect: { undisturbed, limits, rates, pruned, progressWithinMs, pickupWithinMs,
 *   schedules: { everyMs } by name, clockIsSet: the clock of the database jumps }
 */

/** A history in which nothing happened, to be filled in: what a test of one invariant leaves out is no part of it. */
export function emptyHistory() {
  return {
    entries: [],
    jobs: [],
    attempts: [],
    sessions: { idleInTransaction: [], leaked: [], locks: [], deadlocks: 0 },
    slots: [],
    counts: undefined,
    ticks: [],
    hurriedTicks: [],
    executions: [],
    tasks: [],
    members: [],
    batches: [],
    audit: [],
    promises: {},
  }
}

const indexes = new WeakMap()

/** Everything by the job it belongs to, made once per history. */
export function byJob(history) {
  let index = indexes.get(history)
  if (!index) {
    const of = (kind) => history.entries.filter((entry) => entry.kind === kind)
    index = {
      of,
      rows: group(history.jobs, ({ id }) => id),
      attempts: group(history.attempts, ({ job }) => job),
      starts: group(of('start'), ({ job }) => job),
      finishes: group(of('finish'), ({ job }) => job),
      throws: group(of('threw'), ({ job }) => job),
      effects: group(of('effect'), ({ job }) => job),
      acknowledged: group(of('acknowledged'), ({ job }) => job),
    }
    indexes.set(history, index)
  }
  return index
}

/** A day that was dropped took its finished jobs with it; the run says which ones may be gone. */
export function mayBeGone(history, job) {
  return history.promises.pruned?.includes(job) ?? false
}

export function group(items, keyOf) {
  const groups = new Map()
  for (const item of items) {
    const key = keyOf(item)
    if (groups.has(key)) groups.get(key).push(item)
    else groups.set(key, [item])
  }
  return groups
}
