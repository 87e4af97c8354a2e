// Few types, keys and lanes, so that what one command leaves behind is in the way of the next.
import { setTimeout as pause } from 'node:timers/promises'
import { defineDependency, defineType, FatalError } from 'holdfast'

export const typeNames = ['mail', 'report', 'sync']
export const keys = ['ada', 'bob']
export const uniqueKeys = ['one', 'two']
export const lanes = ['default', 'bulk']
export const dependencies = ['ledger', 'stripe']
export const people = ['eve', 'mallory', 'trent']

/** The breaker opens and is probed within a sequence; what fails is due again at once. */
const definition = {
  backoff: { base: 20, factor: 1, cap: 20, jitter: 20 },
  timeout: '40s',
  maxAttempts: 4,
  limits: { breaker: { share: 0.6, minimum: 4, window: '1m', probe: '150ms' } },
}

/** What each type uses, by its name, as the code of a worker has it. @param {Record<string, string[]>} uses */
function using(type, uses = {}) {
  return (uses[type] ?? []).map((name) => defineDependency({ name, limits: definition.limits }))
}

/** Types without handlers, as whoever deploys other code registers them. */
export function definitions(uses) {
  return typeNames.map((type) => defineType({ ...definition, type, uses: using(type, uses) }))
}

/** Longest that a handler hangs which nobody tells to stop: whoever waits for its end has no answer in time. */
const longestMs = 25_000

/**
 * The types with handlers that say to `note` what they do. A payload says how long its handler takes (`ms`) and what then:
 * `how` is ok, fail (always), once (fails at its first attempt), fatal, snooze, stop_type, stop_key or hang (until it is told to stop, or `released`).
 */
export function makeTypes({ note, worker, uses, released = new AbortController().signal }) {
  const run = async (payload, context) => {
    const { job, fence, signal } = context
    const { key, ms = 0, how = 'ok' } = payload
    const execution = { job: job.id, attempt: job.attempt, fence: String(fence), pid: process.pid, worker, type: job.type, key }
    note({ kind: 'start', ...execution })
    const end = (kind) => note({ kind, ...execution })
    try {
      if (how === 'hang') await hang(AbortSignal.any([signal, released]))
      else if (ms > 0) await pause(ms, undefined, { signal })
      signal.throwIfAborted()
      if (how === 'fail' || (how === 'once' && job.attempt === 1)) throw new Error('it fails as told')
      if (how === 'fatal') throw new FatalError('no retry can help, as told')
    } catch (error) {
      end('threw')
      throw error
    }
    end('finish')
    if (how === 'snooze' && job.attempt === 1 && Date.now() - job.createdAt < 500) return context.snooze(50)
    if (how === 'stop_type' && Date.now() - job.createdAt < 500) return context.stop(50, 'type')
    if (how === 'stop_key' && Date.now() - job.createdAt < 500) return context.stop(50, 'key')
  }
  return typeNames.map((type) => defineType({ ...definition, type, uses: using(type, uses), run }))
}

function hang(signal) {
  if (signal.aborted) return
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, longestMs)
    signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true })
  })
}
