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
    for (const [job, executions] of starts) {
      const inOrder = [...executions].sort((a, b) => a.attempt - b.attempt || a.at - b.at)
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

/** A job handed back at a shutdown may start elsewhere while its old handler is still told to stop. */
function handedBack(attempts, attempt) {
  return attempts?.some((row) => row.attempt === attempt && row.outcome === 'handed_back')
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
  says: 'no more executions at once than a limit allows',
  *check(history) {
    const { attempts } = byJob(history)
    const lost = (entry) =>
      attempts.get(entry.job)?.some((row) => row.attempt === entry.attempt && row.outcome === 'lease_expired')
    const limited = history.entries.filter(({ kind, limit }) => kind === 'start' && limit !== undefined)
    for (const [limit, starts] of group(limited, (entry) => entry.limit)) {
      const most = history.promises.limits?.[limit] ?? 1
      const running = new Set()
      const mine = new Set(starts)
      for (const entry of history.entries) {
        if (mine.has(entry)) {
          if (!lost(entry)) running.add(`${entry.job} ${entry.fence}`)
          yield running.size <= most || `${running.size} jobs of limit ${limit} ran at once, and ${most} may`
        } else if (entry.kind === 'finish' || entry.kind === 'threw') running.delete(`${entry.job} ${entry.fence}`)
      }
    }
  },
}
