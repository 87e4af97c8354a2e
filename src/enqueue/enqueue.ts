import { sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { AnyJobType, JobRequest } from '../job/type.js'
import { explained, isConnectionTrouble } from '../store/sqlstate.js'
import type { NewJob, Stands, Store } from '../store/store.js'
import { asQueryable, type CallerTransaction, type Queryable } from '../store/transaction.js'
import type { Backpressure } from './backpressure.js'
import { paced } from './pace.js'
import { prepare } from './prepare.js'
import type { TypeRegistry } from './registry.js'

export interface EnqueueOptions {
  /** The caller's own transaction. */
  tx?: CallerTransaction
  /** At most so many of these jobs become due each second; they have a low priority unless they say otherwise. */
  pace?: number
}

export interface Enqueued {
  id: string
  /**
   * `existing`: an earlier job has this id, idempotency key or unique key; nothing was added. The other words are about
   * unique keys: `replaced` and `debounced` gave the job that waits a new payload, `queued_behind` made one that starts
   * when the running one has ended.
   */
  status: 'created' | Stands['what']
}

/** More than this goes in several statements of one transaction: a statement's text is held in memory on both sides. */
const statementJobs = 5_000
const tries = 4

/**
 * Stores jobs, all or none, and answers in order. With the caller's transaction they exist if and only if it commits;
 * without, they are durable when this resolves.
 */
export async function enqueue(
  store: Store,
  registry: TypeRegistry,
  backpressure: Backpressure,
  requests: readonly JobRequest[],
  options: EnqueueOptions = {},
): Promise<Enqueued[]> {
  const { tx } = options
  const jobs = await Promise.all((options.pace === undefined ? requests : paced(requests, options.pace)).map(prepare))
  refuseRepeatedIds(jobs)
  if (jobs.length === 0) return []
  const queryable = tx === undefined ? undefined : asQueryable(tx)
  await registry.ensure(requests.map((request) => request.type).filter((type) => typeof type !== 'string') as AnyJobType[])
  await backpressure.admit(jobs)
  const standing = queryable
    ? await storeOn(store, jobs, queryable, { fresh: !jobs.some((job) => job.brought), wakeAlways: true })
    : await storeDurably(store, jobs)
  return jobs.map((job, place) => {
    const stands = standing.get(place)
    return stands ? { id: stands.id, status: stands.what } : { id: job.id, status: 'created' }
  })
}

/**
 * A connection can break after the commit and before the answer. The ids were made here, so asking again cannot add a
 * job twice: if the first try was committed, the second finds its own ids.
 */
async function storeDurably(store: Store, jobs: readonly NewJob[]): Promise<Map<number, Stands>> {
  const brought = jobs.some((job) => job.brought)
  for (let attempt = 1; ; attempt++) {
    const options = { fresh: attempt === 1 && !brought, wakeAlways: false }
    try {
      const standing =
        jobs.length <= statementJobs
          ? await store.enqueue(jobs, options)
          : await store.database.transaction((tx) => storeOn(store, jobs, tx, { ...options, wakeAlways: true }))
      if (attempt > 1) forgetOwn(standing, jobs)
      return standing
    } catch (error) {
      if (attempt >= tries || !isConnectionTrouble(error)) throw explained(error)
      await sleep(50 * 3 ** (attempt - 1))
    }
  }
}

async function storeOn(
  store: Store,
  jobs: readonly NewJob[],
  tx: Queryable,
  options: { fresh: boolean; wakeAlways: boolean },
): Promise<Map<number, Stands>> {
  const standing = new Map<number, Stands>()
  for (let start = 0; start < jobs.length; start += statementJobs) {
    const part = await store.enqueue(jobs.slice(start, start + statementJobs), { ...options, tx })
    for (const [place, stands] of part) standing.set(start + place, stands)
  }
  return standing
}

/** A job found under an id that was made for this very call is the one an earlier try of it stored. */
function forgetOwn(standing: Map<number, Stands>, jobs: readonly NewJob[]): void {
  for (const [place, { id, what }] of standing) {
    const job = jobs[place] as NewJob
    if (id === job.id && what === 'existing' && !job.brought) standing.delete(place)
  }
}

function refuseRepeatedIds(jobs: readonly NewJob[]): void {
  const seen = new Set<string>()
  for (const job of jobs) {
    if (job.brought && seen.has(job.id)) {
      throw new HoldfastError('invalid_option', `id ${job.id} is given twice in one call`, { field: 'id' })
    }
    if (job.brought) seen.add(job.id)
  }
}
