// I10, I12 to I17: keys, schedules, cancels, progress, times, payloads, the audit log.
import { fingerprint } from '../evidence/fingerprint.mjs'
import { neverMore, uniqueStarts } from './executions.mjs'
import { byJob, group, mayBeGone } from './history.mjs'
import { terminal } from './jobs.mjs'

export const I10 = {
  says: 'one job per idempotency key, the same one for everybody who asks; a unique key has one job at a time and is then free',
  *check(history) {
    const { of } = byJob(history)
    const answers = of('acknowledged').filter(({ key }) => key !== undefined)
    for (const [key, given] of group(answers, (entry) => entry.key)) {
      const ids = new Set(given.map(({ job }) => job))
      yield ids.size === 1 || `key ${key} was answered with ${ids.size} jobs: ${[...ids].join(', ')}`
      const created = given.filter(({ status }) => status === 'created').length
      yield created <= 1 || `key ${key} was called created ${created} times`
    }
    const kept = history.jobs.filter(({ key }) => key !== null && key !== undefined)
    for (const [key, jobs] of group(kept, (job) => `${job.type} ${job.key}`)) {
      const ids = new Set(jobs.map(({ id }) => id))
      yield ids.size === 1 || `${ids.size} jobs have the key ${key}`
    }
    yield* uniqueKeys(history)
  },
}

/** `unique` in the books is a key whose policy lets nobody in while its job waits or runs. */
function* uniqueKeys(history) {
  const { of, rows, finishes } = byJob(history)
  for (const [key, starts] of uniqueStarts(history))
    yield* neverMore(history, new Set(starts), 1, (size) => `${size} jobs of the unique key ${key} ran at once`)
  const asked = new Map(of('asked').map((entry) => [entry.call, entry.at]))
  const created = of('acknowledged').filter(({ unique, status }) => unique !== undefined && status === 'created')
  // A job that waits behind another one of its key is created while that has not ended.
  const alone = created.filter(({ policy }) => policy !== 'one_more')
  for (const [key, made] of group(alone, (entry) => entry.unique)) {
    for (const [n, later] of made.entries()) {
      const earlier = made
        .slice(0, n)
        .filter(({ job, at }) => at < asked.get(later.call) && rows.get(job)?.[0].status === 'completed')
      for (const { job } of earlier) {
        const finished = finishes.get(job)?.some(({ at }) => at < later.at)
        yield finished || `job ${later.job} was created for the unique key ${key} while ${job} had not ended`
      }
    }
  }
  const ended = new Map(of('ended').map(({ job, at }) => [job, at]))
  const doubtful = new Set(of('in_doubt').map(({ unique }) => unique))
  for (const { call, unique } of of('refused')) {
    if (unique === undefined || doubtful.has(unique)) continue
    const standing = created.filter((entry) => entry.unique === unique && !(ended.get(entry.job) < asked.get(call)))
    yield standing.length > 0 || `the unique key ${unique} was refused, and every job that had it has ended`
  }
}

/** By so much the clock of the database is set back at most, where a run sets it. */
const mostSetBackMs = 60_000

export const I12 = {
  says: 'exactly one job per schedule and tick, and none before its time',
  *check(history) {
    const { rows } = byJob(history)
    const { schedules = {} } = history.promises
    for (const [schedule, made] of group(history.ticks, (tick) => tick.schedule)) {
      const ticks = group(made, ({ tick }) => tick)
      for (const [tick, jobs] of ticks) {
        yield jobs.length === 1 || `${schedule} at ${tick} has ${jobs.length} jobs: ${jobs.map(({ job }) => job).join(', ')}`
        for (const { job } of jobs) yield rows.has(job) || `${schedule} at ${tick} was fired, and its job ${job} does not exist`
      }
      // A schedule that makes up for whatever it missed leaves none out, however the clock was set.
      const { everyMs } = schedules[schedule] ?? {}
      const times = everyMs === undefined ? [] : [...ticks.keys()].sort((a, b) => a - b)
      for (const [n, at] of times.slice(1).entries())
        yield at - times[n] === everyMs || `${schedule} has no job between ${times[n]} and ${at}, and ticks every ${everyMs} ms`
    }
    // What was decided before the clock of the database was set back may be written after that.
    const allowedMs = history.promises.clockIsSet ? mostSetBackMs : 0
    for (const { schedule, tick, earlyMs } of history.hurriedTicks)
      yield earlyMs <= allowedMs || `${schedule} at ${tick} was fired ${earlyMs} ms before its time`
    for (const schedule of Object.keys(schedules))
      yield history.ticks.some((tick) => tick.schedule === schedule) || `the schedule ${schedule} made no job`
  },
}

export const I13 = {
  says: 'a job whose cancel was acknowledged is cancelled, unless it had ended before',
  *check(history) {
    const { rows, attempts, of } = byJob(history)
    for (const { job, done, answer } of of('cancelled')) {
      const found = (rows.get(job) ?? []).map(({ status }) => status)
      const wanted = done ? 'cancelled' : answer
      yield found.every((status) => status === wanted) ||
        `the cancel of ${job} was answered with ${answer}, and it is ${found.join(' and ')}`
      const completed = attempts.get(job)?.some(({ outcome }) => outcome === 'completed')
      yield !(done && completed) || `job ${job} was cancelled, and then recorded as completed`
    }
  },
}

export const I14 = {
  says: 'work goes on soon after every heal, and an idle worker hears of a new job',
  *check(history) {
    const { of } = byJob(history)
    const { progressWithinMs = 30_000, pickupWithinMs } = history.promises
    const progress = [...of('start'), ...of('finish')]
    const last = history.entries.at(-1)?.at ?? 0
    for (const healed of of('healed')) {
      // Nothing follows the heal that came after the last job.
      const owed = progress.some(({ at }) => at > healed.at) || last - healed.at > progressWithinMs
      if (!owed || history.promises.restAfterHeal) continue
      const soon = progress.some(({ at }) => at > healed.at && at < healed.at + progressWithinMs)
      yield soon || `nothing ran within ${progressWithinMs} ms after ${healed.fault} was healed`
    }
    const pickups = of('pickup')
      .map(({ ms }) => ms)
      .sort((a, b) => a - b)
    if (pickupWithinMs === undefined) return
    const median = pickups[pickups.length >> 1] ?? Number.POSITIVE_INFINITY
    yield median <= pickupWithinMs ||
      `an idle worker took ${Math.round(median)} ms (the median of ${pickups.length}) to start a job`
  },
}

export const I15 = {
  says: 'nothing runs before its time, by the clock of the database',
  *check(history) {
    // Where the database's clock was set, the one of the ledger says nothing about it.
    if (history.promises.clockIsSet) return
    const { starts, throws, acknowledged, attempts, of } = byJob(history)
    // Of a worker that lost its lease it does not matter how its handler ended: the job was free from then on.
    const gaveUp = (job, attempt) => attempts.get(job)?.some((row) => row.attempt === attempt && row.outcome === 'lease_expired')
    const hurried = group(of('hurried'), ({ job }) => job)
    for (const [job, [{ notBefore: asked, backoffMs }]] of acknowledged) {
      // Whether or not the person who gave it another time was told so.
      const notBefore = hurried.has(job) ? Math.min(asked ?? 0, ...hurried.get(job).map((entry) => entry.notBefore)) : asked
      const begun = [...(starts.get(job) ?? [])].sort((a, b) => a.at - b.at)
      if (notBefore !== undefined && begun.length > 0) {
        yield begun[0].at >= notBefore || `job ${job} started ${Math.round(notBefore - begun[0].at)} ms before it was due`
      }
      for (const failed of backoffMs === undefined ? [] : (throws.get(job) ?? [])) {
        const next = begun.find(({ attempt, at }) => attempt === failed.attempt + 1 && at > failed.at)
        if (!next || gaveUp(job, failed.attempt)) continue
        yield next.at - failed.at >= backoffMs - 1 ||
          `attempt ${next.attempt} of ${job} came ${Math.round(next.at - failed.at)} ms after the failure, and not ${backoffMs}`
      }
    }
  },
}

export const I16 = {
  says: 'a payload arrives as it was given, to the byte',
  *check(history) {
    const { starts, acknowledged, rows } = byJob(history)
    for (const [job, [{ payload, status }]] of acknowledged) {
      if (payload === undefined || status === 'existing') continue
      for (const start of starts.get(job) ?? [])
        yield start.payload === payload || `the payload of ${job} reached its handler changed`
      const kept = rows.get(job)?.[0].payload
      if (kept === undefined || mayBeGone(history, job)) continue
      yield fingerprint(JSON.parse(kept)) === payload || `the payload of ${job} was stored changed`
    }
  },
}

export const I17 = {
  says: 'every act of a person is in the audit log, with who did it',
  *check(history) {
    const { of } = byJob(history)
    for (const { action, job, actor } of of('acted')) {
      const recorded = history.audit.some((row) => row.action === action && row.job === job && row.actor === actor)
      yield recorded || `${action} of ${job} by ${actor} is not in the audit log`
    }
  },
}

export const I19 = {
  says: 'the counts that are shown are the truth',
  *check(history) {
    if (!history.counts) return
    const truth = group(history.jobs, ({ status }) => status)
    const shown = new Map()
    for (const { status, count } of history.counts) shown.set(status, (shown.get(status) ?? 0) + count)
    for (const status of new Set([...truth.keys(), ...shown.keys(), ...terminal])) {
      const [said, is] = [shown.get(status) ?? 0, truth.get(status)?.length ?? 0]
      yield said === is || `${said} jobs are shown as ${status}, and ${is} are`
    }
  },
}
