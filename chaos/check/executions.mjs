// I6, I7, I11: who runs a job, and when.
import { byJob, group } from './history.mjs'

export const I6 = {
  says: 'two executions of one job overlap only where the earlier one had lost its lease',
  *check(history) {
    const { attempts, starts, of } = byJob(history)
    const lost = (job, attempt) => attempts.get(job)?.some((row) => row.attempt === attempt && row.outcome === 'lease_expired')
    const running = new Map()
    for (const entry of history.entries) {
      if (entry.kind === 'killed') {
        for (const [job, executions] of running)
          running.set(
            job,
            executions.filter(({ pid }) => pid !== entry.pid),
          )
      } else if (entry.kind === 'finish' || entry.kind === 'threw') {
        running.set(
          entry.job,
          (running.get(entry.job) ?? []).filter(({ fence }) => fence !== entry.fence),
        )
      } else if (entry.kind === 'start') {
        for (const other of running.get(entry.job) ?? []) {
          const first = Math.min(other.attempt, entry.attempt)
          const excused = lost(entry.job, first) || handedBack(attempts.get(entry.job), first)
          yield excused || `attempts ${other.attempt} and ${entry.attempt} of ${entry.job} overlap, and ${first} held its lease`
        }
        running.set(entry.job, [...(running.get(entry.job) ?? []), entry])
      }
    }
    // Whoever is replayed begins with its first attempt again.
    const revivedAt = new Map(of('reviving').map(({ job, at }) => [job, at]))
    const life = ({ job, at }) => (at > (revivedAt.get(job) ?? Number.POSITIVE_INFINITY) ? 2 : 1)
    for (const [job, executions] of starts) {
      const inOrder = [...executions].sort((a, b) => life(a) - life(b) || a.attempt - b.attempt || a.at - b.at)
      const grows = inOrder.every(({ fence }, at) => at === 0 || BigInt(fence) > BigInt(inOrder[at - 1].fence))
      yield grows || `the fences of ${job} do not grow: ${inOrder.map(({ attempt, fence }) => `${attempt}: ${fence}`).join(', ')}`
    }
    // Where nothing was broken, nobody may lose a lease: its worker was alive and renewed it.
    if (!history.promises.undisturbed) return
    const harmed = new Set([...of('killed'), ...of('frozen')].map(({ pid }) => pid))
    for (const { job, attempt, outcome } of history.attempts) {
      if (outcome !== 'lease_expired') continue
      const begun = starts.get(job)?.find((entry) => entry.attempt === attempt)
      yield !begun || harmed.has(begun.pid) || `the lease of attempt ${attempt} of ${job} ran out, and its worker was well`
    }
  },
}

/**
 * A job handed back at a shutdown may start elsewhere while its old handler is still told to stop. A handler that sleeps or waits for a
 * signal never comes to its end in that attempt.
 */
function handedBack(attempts, attempt) {
  return attempts?.some((row) => row.attempt === attempt && ['handed_back', 'snoozed'].includes(row.outcome))
}

export const I7 = {
  says: 'the sink takes one effect of each completed job, and none of an attempt that was given up',
  *check(history) {
    const { effects, attempts } = byJob(history)
    for (const [job, written] of effects) {
      const accepted = written.filter(({ answer }) => answer === 'accepted')
      yield accepted.length <= 1 || `the sink took ${accepted.length} effects of ${job}`
      for (const { attempt } of attempts.get(job)?.filter(({ outcome }) => outcome === 'completed') ?? []) {
        const answers = written.filter((entry) => entry.attempt === attempt).map(({ answer }) => answer)
        yield answers.some((answer) => answer !== 'stale') ||
          `attempt ${attempt} of ${job} is completed, and the sink had refused it as ${answers.join(', ') || 'unheard of'}`
        yield accepted.length === 1 || `job ${job} is completed and the sink has no effect of it`
      }
    }
  },
}

export const I11 = {
  says: 'no more executions at once, and no more starts in a time, than a limit allows',
  *check(history) {
    const { limits = {}, rates = {} } = history.promises
    const counts = countsFor(history)
    const limited = history.entries.filter(({ kind, limits: names }) => kind === 'start' && names !== undefined)
    const named = limited.flatMap((entry) => entry.limits.map((name) => ({ name, entry })))
    for (const [name, uses] of group(named, (use) => use.name)) {
      const mine = new Set(uses.map(({ entry }) => entry).filter(counts))
      if (rates[name]) yield* neverFaster(name, [...mine], rates[name])
      else
        yield* neverMore(
          history,
          mine,
          limits[name] ?? 1,
          (size, most) => `${size} jobs of limit ${name} ran at once, and ${most} may`,
        )
    }
  },
}

export const I22 = {
  says: 'jobs of an ordered key run one after the other, in the order of their enqueue',
  *check(history) {
    const counts = countsFor(history)
    const places = new Map([...byJob(history).acknowledged.keys()].map((job, place) => [job, place]))
    const starts = history.entries.filter(
      (entry) => entry.kind === 'start' && entry.ordered !== undefined && places.has(entry.job) && counts(entry),
    )
    for (const [key, mine] of group(starts, (entry) => entry.ordered)) {
      yield* neverMore(history, new Set(mine), 1, (size) => `${size} jobs of the ordered key ${key} ran at once`)
      let furthest = -1
      for (const { job } of mine) {
        yield places.get(job) >= furthest || `job ${job} of the ordered key ${key} started after one that was enqueued behind it`
        furthest = Math.max(furthest, places.get(job))
      }
    }
  },
}

/**
 * Whether an execution counts against a limit. One that lost its lease does not, nor one that was handed back and is still
 * being told to stop: its slot is somebody else's. A cancelled one does, until its worker has said that it ended; where things
 * are broken its lease may run out before that, which leaves no trace beside the cancel.
 */
function countsFor(history) {
  const { attempts } = byJob(history)
  const excused = ['lease_expired', 'handed_back', ...(history.promises.undisturbed ? [] : ['cancelled'])]
  return ({ job, attempt }) => !attempts.get(job)?.some((row) => row.attempt === attempt && excused.includes(row.outcome))
}

/** Every start of `mine`, held against how many of them run at that moment. */
export function* neverMore({ entries }, mine, most, complaint) {
  const running = new Map()
  for (const entry of entries) {
    if (mine.has(entry)) {
      running.set(`${entry.job} ${entry.fence}`, entry.pid)
      yield running.size <= most || complaint(running.size, most)
    } else if (entry.kind === 'finish' || entry.kind === 'threw') running.delete(`${entry.job} ${entry.fence}`)
    else if (entry.kind === 'killed') for (const [key, pid] of running) if (pid === entry.pid) running.delete(key)
  }
}

function* neverFaster(name, starts, { count, perMs }) {
  const times = starts.map(({ at }) => at).sort((a, b) => a - b)
  for (let n = count; n < times.length; n++) {
    const ms = times[n] - times[n - count]
    yield ms >= perMs || `${count + 1} jobs of rate ${name} started within ${Math.round(ms)} ms, and ${count} may in ${perMs} ms`
  }
}

/** Starts of jobs of one unique key that may not run beside each other, by key. */
export function uniqueStarts(history) {
  const counts = countsFor(history)
  return group(
    history.entries.filter((entry) => entry.kind === 'start' && entry.unique !== undefined && counts(entry)),
    (entry) => entry.unique,
  )
}
