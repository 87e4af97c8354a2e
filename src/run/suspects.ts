import type { ClaimedJob } from '../job/claimed.js'
import type { Crash } from '../job/crash.js'
import type { Store } from '../store/store.js'

/** Whether a job may have crashed its host before. Every crash spends an attempt, so jobs at their first attempt are not looked up. */
export function mayBeSuspect(job: ClaimedJob): boolean {
  return job.attempt > 1
}

/** The same jobs, each with the crashes that happened while it ran. */
export async function withCrashes(store: Store, jobs: readonly ClaimedJob[]): Promise<ClaimedJob[]> {
  const crashes = new Map<string, Crash[]>()
  for (const { id, attempt, at, message, outcome } of await store.crashes(jobs.map((job) => job.id))) {
    const crash: Crash = { attempt, at: new Date(at), message: message ?? outcome }
    const known = crashes.get(id)
    if (known) known.push(crash)
    else crashes.set(id, [crash])
  }
  return jobs.map((job) => {
    const known = crashes.get(job.id)
    return known ? { ...job, crashes: known } : job
  })
}
