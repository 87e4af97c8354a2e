import { monotonicMs, sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { Duration } from '../job/duration.js'
import { readRetry, readSignal, triedWords } from '../job/retry-for.js'
import { explained, isAway, isDuplicate, isWorthAnotherTry } from '../store/sqlstate.js'

/** For how long an enqueue is sent again, and what ends that sooner. */
export interface Persistence {
  retryForMs: number
  signal: AbortSignal | undefined
}

const quickTries = 4
const longestRestMs = 1_000

/** What a caller says about it, or else what its Holdfast was made with. */
export function readPersistence(asked: { retryFor?: Duration; signal?: AbortSignal }, usualMs: number): Persistence {
  const { retryFor } = asked
  const signal = readSignal(asked.signal)
  return { retryForMs: retryFor === undefined ? usualMs : readRetry(retryFor, 'retryFor'), signal }
}

/** What is known when a try has failed. */
interface Failed {
  attempt: number
  /** The database cannot be reached, or only by readers. */
  away: boolean
  /** It may succeed at once. */
  passing: boolean
  /** It conflicts with itself: a try that was given up has committed, so the next one finds its jobs. */
  met: boolean
  elapsedMs: number
  retryForMs: number
  patienceMs: number
}

/**
 * How long to rest before the next try; undefined: give up. A database that is away, as in a failover, is waited for. Anything else that may
 * pass is tried four times in all, and no more once the tries have taken as long as the slowest single one may.
 */
export function restBefore(failed: Failed): number | undefined {
  const { attempt, away, passing, met, elapsedMs, retryForMs, patienceMs } = failed
  const quick = met ? attempt <= quickTries : passing && attempt < quickTries && elapsedMs <= patienceMs
  const waitedFor = (away || met) && elapsedMs < retryForMs
  return quick || waitedFor ? Math.min(50 * 3 ** (attempt - 1), longestRestMs) : undefined
}

/**
 * Sends until it is stored. A connection can break after the commit and before the answer, so only what may be sent twice comes here. The
 * error tells how often and for how long it was tried.
 */
export async function untilStored<Answer>(
  { retryForMs, signal }: Persistence,
  patienceMs: number,
  send: (attempt: number) => Promise<Answer>,
): Promise<Answer> {
  const begun = monotonicMs()
  for (let attempt = 1; ; attempt++) {
    try {
      return await unlessAborted(send(attempt), signal)
    } catch (error) {
      const elapsedMs = monotonicMs() - begun
      const [away, passing, met] = [isAway(error), isWorthAnotherTry(error), attempt > 1 && isDuplicate(error)]
      const rest = restBefore({ attempt, away, passing, met, elapsedMs, retryForMs, patienceMs })
      if (rest === undefined || signal?.aborted) throw signal?.aborted || away ? told(error, attempt, elapsedMs, signal) : error
      // Callers that failed together do not come back together.
      await sleep(rest * (0.5 + Math.random() / 2), signal ? { signal } : {})
    }
  }
}

function told(error: unknown, tries: number, elapsedMs: number, signal: AbortSignal | undefined): unknown {
  const said = explained(error)
  if (!(said instanceof HoldfastError) && !signal?.aborted) return error
  const how = triedWords(tries, elapsedMs)
  const why = signal?.aborted ? `${how}, until the caller's signal ended it; the jobs may have been stored` : how
  const message = said instanceof Error ? said.message : String(said)
  return new HoldfastError('database_unavailable', `${message}; ${why}`, { cause: signal?.aborted ? signal.reason : error })
}

/** A statement that is under way goes on, and may commit: nobody can take it back. */
function unlessAborted<Answer>(answer: Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
  if (!signal) return answer
  return new Promise((resolve, reject) => {
    const abort = () => reject(new Error('no answer yet'))
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
