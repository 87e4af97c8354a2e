import { HoldfastError } from '../errors.js'
import type { JobRequest } from '../job/type.js'

const fastest = 100_000
const lowPriority = 2

/** Spreads an import over time: at most `perSecond` jobs become due each second, with a low priority. */
export function paced(requests: readonly JobRequest[], perSecond: number): JobRequest[] {
  if (!(Number.isFinite(perSecond) && perSecond > 0 && perSecond <= fastest)) {
    const problem = `pace is ${String(perSecond)}; it is a number of jobs per second, above 0 and up to ${fastest}`
    throw new HoldfastError('invalid_option', problem, { field: 'pace' })
  }
  return requests.map((request, index) => {
    if (request.delay !== undefined || request.runAt !== undefined) {
      throw new HoldfastError('invalid_option', 'pace sets the time of each job; leave out delay and runAt', { field: 'pace' })
    }
    const delay = Math.floor((index * 1_000) / perSecond)
    return { priority: lowPriority, ...request, ...(delay > 0 ? { delay } : {}) }
  })
}
