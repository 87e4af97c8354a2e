// I20: what a handler does in steps, and what it waits for.
import { byJob, group } from './history.mjs'

const ofStep = ({ job, step }) => `"${step}" of ${job}`

export const I20 = {
  says: 'a finished step never runs again and none is left out; whoever lost the lease writes none; a signal is delivered once',
  *check(history) {
    const { of } = byJob(history)
    const runs = group(of('step'), ofStep)
    const results = group(of('stepped'), ofStep)
    for (const [step, given] of results) {
      const [first] = given
      // One whose lease had run out may still call the function, beside its successor: nothing of that is kept, as lateWrites checks.
      const again = runs.get(step)?.find(({ at, fence }) => at > first.at && BigInt(fence) >= BigInt(first.fence))
      yield again === undefined ||
        `step ${step} ran again in attempt ${again.attempt}, and attempt ${first.attempt} had its result`
      yield given.every(({ value }) => value === first.value) || `step ${step} was given different results`
    }
    yield* lateWrites(history, runs, results)
    yield* leftOut(history)
    yield* sleeps(history)
    yield* signals(history)
  },
}

/** Somebody else has begun with the job, so the lease was lost; whoever begins a step after that must not be told that it was kept. */
function* lateWrites(history, runs, results) {
  const { starts } = byJob(history)
  for (const [step, begun] of runs)
    for (const run of begun) {
      const successor = starts.get(run.job)?.find(({ fence, at }) => BigInt(fence) > BigInt(run.fence) && at < run.at)
      if (!successor) continue
      const kept = results.get(step)?.some(({ fence, at }) => fence === run.fence && at > run.at)
      yield !kept || `attempt ${run.attempt} wrote step ${step} after attempt ${successor.attempt} had begun`
    }
}

/** The execution that came to its end was given every step, in its order. */
function* leftOut(history) {
  const { of, starts } = byJob(history)
  const given = group(of('stepped'), ({ job, fence }) => `${job} ${fence}`)
  for (const { job, fence } of of('finish')) {
    const begun = starts.get(job)?.find((entry) => entry.fence === fence)
    if (!begun?.steps) continue
    const names = (given.get(`${job} ${fence}`) ?? []).map(({ step }) => step)
    const all = Array.from({ length: begun.steps }, (_, n) => `step ${n + 1}`)
    yield names.join() === all.join() ||
      `job ${job} finished with the steps ${names.join(', ') || 'none'}, and has ${begun.steps}`
  }
}

function* sleeps(history) {
  if (history.promises.clockIsSet) return
  const { of } = byJob(history)
  const began = group(of('sleeping'), ({ job }) => job)
  for (const { job, at } of of('woke')) {
    const [first] = began.get(job)
    yield at - first.at >= first.ms - 1 || `job ${job} slept ${Math.round(at - first.at)} ms instead of ${first.ms}`
  }
}

function* signals(history) {
  const { of } = byJob(history)
  const sent = new Set(of('signalling').map(({ job, value }) => `${job} ${value}`))
  for (const [job, all] of group(of('received'), (entry) => entry.job)) {
    for (const { value } of all)
      yield sent.has(`${job} ${value}`) || `job ${job} was given the signal ${value}, which nobody sent`
    const waits = group(all, ({ nth }) => nth)
    for (const [nth, given] of waits) {
      const values = new Set(given.map(({ value }) => value))
      yield values.size === 1 || `wait ${nth} of ${job} was given different signals: ${[...values].join(', ')}`
    }
    const firsts = [...waits.values()].map(([{ value }]) => value)
    yield new Set(firsts).size === firsts.length || `a signal was delivered to two waits of ${job}: ${firsts.join(', ')}`
  }
}
