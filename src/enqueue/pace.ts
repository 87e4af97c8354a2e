import { notA, option, refused, says } from '../job/refused.js'
import type { JobRequest } from '../job/type.js'
import type { OperatorStore } from '../store/operator-store.js'
import type { NewJob } from '../store/store.js'
import type { Queryable } from '../store/transaction.js'

const fastest = 100_000
const lowPriority = 2

/** Jobs that are spread over time have a low priority, unless they say otherwise. */
export function paced(requests: readonly JobRequest[], perSecond: number): JobRequest[] {
  if (!(Number.isFinite(perSecond) && perSecond > 0 && perSecond <= fastest)) {
    throw notA('pace', perSecond, `a number of jobs per second, above 0 and up to ${fastest}`)
  }
  return requests.map((request) => {
    if (request.delay !== undefined || request.runAt !== undefined) {
      throw refused('pace', says`sets the time of each job; leave out ${option('delay')} and ${option('runAt')}`)
    }
    return { priority: lowPriority, ...request }
  })
}

/**
 * Gives each job its time, behind those of every earlier paced call of its types, so that all of them together keep to the pace. The time is taken
 * in a transaction of its own: in the caller's, every other paced call of these types would wait until that ends. That is the price
 * only where the caller's pool is Holdfast's too and has no other connection free.
 */
export async function spread(
  store: OperatorStore,
  jobs: readonly NewJob[],
  perSecond: number,
  tx: Queryable | undefined,
): Promise<void> {
  const types = [...new Set(jobs.map(({ type }) => type))]
  const begins = await store.reservePace(types, jobs.length, perSecond, store.hasFreeConnection ? undefined : tx)
  for (const [index, job] of jobs.entries()) job.runAt = new Date(begins + (index * 1_000) / perSecond).toISOString()
}
