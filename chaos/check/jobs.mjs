// I1 to I5, I8, I9: what becomes of a job.
import { byJob, group, mayBeGone } from './history.mjs'

export const terminal = ['completed', 'dead', 'cancelled', 'discarded']
/** Ends of an attempt that do not use it up: the next one has the same number. */
const unspent = ['snoozed', 'handed_back']

export const I1 = {
  says: 'every acknowledged job is found afterwards',
  *check(history) {
    const { acknowledged, rows } = byJob(history)
    for (const job of acknowledged.keys()) {
      if (mayBeGone(history, job)) continue
      yield rows.has(job) || `acknowledged job ${job} is lost`
    }
  },
}

export const I2 = {
  says: 'every acknowledged job, and every job of a tick, came to an end in time',
  *check(history) {
    const { acknowledged, rows } = byJob(history)
    for (const job of new Set([...acknowledged.keys(), ...history.ticks.map((tick) => tick.job)])) {
      // Before a gate, behind another job of its key or in the queue: whatever it waits for, it may not be for ever.
      const status = rows.get(job)?.[0].status
      if (status === undefined) continue
      yield terminal.includes(status) || `job ${job} is still ${status}`
    }
  },
}

export const I3 = {
  says: 'a job has one end, and nothing happens after it',
  *check(history) {
    const { rows, attempts, of } = byJob(history)
    const revived = new Set(of('reviving').map(({ job }) => job))
    for (const [job, places] of rows) {
      yield places.length === 1 ||
        `job ${job} stands in ${places.length} places: ${places.map(({ status }) => status).join(', ')}`
      const outcomes = (attempts.get(job) ?? []).map(({ outcome }) => outcome)
      const completed = outcomes.indexOf('completed')
      const expected = places[0].status === 'completed' ? 1 : 0
      const ends = outcomes.filter((outcome) => outcome === 'completed').length
      if (revived.has(job)) continue
      yield ends === expected || `job ${job} is ${places[0].status} and was completed ${ends} times: ${outcomes.join(', ')}`
      yield completed < 0 || completed === outcomes.length - 1 || `job ${job} went on after its end: ${outcomes.join(', ')}`
    }
  },
}

export const I4 = {
  says: 'a completed job has an execution that came to its end',
  *check(history) {
    const { finishes } = byJob(history)
    for (const { job, attempt, outcome } of history.attempts) {
      if (outcome !== 'completed') continue
      const finished = finishes.get(job)?.some((entry) => entry.attempt === attempt)
      yield finished || `attempt ${attempt} of ${job} is recorded as completed, and no handler finished it`
    }
  },
}

export const I5 = {
  says: 'every execution is a recorded attempt, and attempts are numbered 1 to n',
  *check(history) {
    const { rows, starts, attempts } = byJob(history)
    for (const job of rows.keys()) {
      const recorded = attempts.get(job) ?? []
      const numbers = [...new Set(recorded.map(({ attempt }) => attempt))]
      yield numbers.every((number, at) => number === at + 1) || `attempts of ${job} are numbered ${numbers.join(', ')}`
    }
    for (const [job, executions] of starts) {
      if (!rows.has(job)) continue
      const recorded = group(attempts.get(job) ?? [], ({ attempt }) => attempt)
      for (const [attempt, begun] of group(executions, (entry) => entry.attempt)) {
        const times = recorded.get(attempt)?.length ?? 0
        yield begun.length <= times ||
          `attempt ${attempt} of ${job} was executed ${begun.length} times and recorded ${times} times`
      }
    }
  },
}

export const I8 = {
  says: 'no job is tried more often than it may be, and what always fails ends dead',
  *check(history) {
    const { rows, attempts, acknowledged, of } = byJob(history)
    const unwanted = new Set(of('cancelling').map(({ job }) => job))
    // Whoever is replayed has all its attempts once more, whether or not anybody was told of it.
    const revived = new Set(of('reviving').map(({ job }) => job))
    for (const [job, [{ status, maxAttempts }]] of rows) {
      const spent = (attempts.get(job) ?? []).filter(({ outcome }) => !unspent.includes(outcome)).length
      yield spent <= maxAttempts * (revived.has(job) ? 2 : 1) || `job ${job} spent ${spent} attempts of ${maxAttempts}`
      const ends = acknowledged.get(job)?.[0].ends
      yield ends === undefined ||
        !terminal.includes(status) ||
        status === ends ||
        (status === 'cancelled' && unwanted.has(job)) ||
        `job ${job} should end ${ends} and is ${status}`
    }
  },
}

export const I9 = {
  says: 'no job exists or runs that nobody asked for, and none twice as many',
  *check(history) {
    const { rows, starts, of, acknowledged } = byJob(history)
    const asked = new Map(of('asked').map((entry) => [entry.call, entry]))
    const undone = new Set(of('rolled_back').flatMap(({ jobs }) => jobs))
    for (const job of undone) yield !(rows.has(job) || starts.has(job)) || `job ${job} was rolled back and exists`
    const settled = [...of('rolled_back'), ...of('refused')].map(({ call }) => call)
    const found = group([...rows.values()].flat(), ({ payload }) => callOf(payload))
    for (const [call, jobs] of found) {
      const ids = new Set(jobs.map(({ id }) => id))
      yield asked.has(call) || `job ${[...ids][0]} belongs to call ${call}, which nobody made`
      yield ids.size <= (asked.get(call)?.count ?? 0) ||
        `call ${call} asked for ${asked.get(call)?.count} jobs and ${ids.size} exist`
    }
    for (const call of settled) yield !found.has(call) || `call ${call} was undone and its jobs exist`
    for (const job of starts.keys()) {
      if (mayBeGone(history, job)) continue
      yield rows.has(job) || acknowledged.has(job) || `job ${job} ran and does not exist`
    }
  },
}

/** Every payload of the bench names the call it was enqueued by. */
function callOf(payload) {
  try {
    return JSON.parse(payload).call
  } catch {
    return undefined
  }
}
