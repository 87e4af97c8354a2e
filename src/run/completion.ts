import type pg from 'pg'
import { monotonicMs, sleep } from '../clock.js'
import { FatalError, HoldfastError } from '../errors.js'
import type { CallerTransaction } from '../job/caller-transaction.js'
import { describeFailure } from '../job/failure.js'
import type { Outcome } from '../job/outcome.js'
import { refused } from '../job/refused.js'
import { completedWith } from '../job/result.js'
import { isConnectionTrouble } from '../store/sqlstate.js'
import { asQueryable, type Queryable } from '../store/transaction.js'
import type { Attempt } from './attempt.js'
import type { InlineServices } from './services.js'

type Work = (tx: pg.PoolClient) => Promise<unknown>

const written: Outcome = { kind: 'completed', written: true }
const looksMs = [0, 100, 400, 1_500, 4_000]

/**
 * The end of a job in a transaction of its handler's. Once the statement that ends it was sent, nobody but the database knows how it went:
 * the connection may break during the commit, and a transaction of the handler's own ends where the worker does not see it. So the
 * attempt asks, and is completed, or fails like any other, by the answer.
 */
export class Completion {
  readonly #attempt: Attempt
  #state: 'unused' | 'sent' | 'written' = 'unused'

  constructor(attempt: Attempt) {
    this.#attempt = attempt
  }

  /** Whether the end is committed, as far as is known. */
  get written(): boolean {
    return this.#state === 'written'
  }

  /** Whether a transaction that ends the job may still be open. */
  get open(): boolean {
    return this.#state === 'sent'
  }

  async with(given: CallerTransaction | Work, result: unknown): Promise<unknown> {
    if (this.#state !== 'unused') throw refused([], 'completeWith was called before in this attempt')
    if (isWork(given)) return this.#inOurs(given)
    await this.#end(asQueryable(given), result)
    return result
  }

  /** How the attempt ended, given how its handler did. What is thrown after the end was committed changes nothing about it. */
  async outcome(went: Outcome): Promise<Outcome> {
    if (this.#state === 'unused') return went
    const { services, job } = this.#attempt
    try {
      if (!this.written && (await services.completionStands(job)) === 'written') this.#state = 'written'
    } catch (error) {
      // The settle that follows is fenced: where the end was committed after all, it finds that and changes nothing.
      if (went.kind === 'completed') return { kind: 'failed', failure: describeFailure(error), fatal: false }
    }
    if (this.written) return written
    return went.kind === 'completed' ? { kind: 'failed', failure: describeFailure(notCommitted()), fatal: false } : went
  }

  async #inOurs(work: Work): Promise<unknown> {
    const { transact } = this.#attempt.services as InlineServices
    if (!transact) {
      const message =
        'an isolated handler has no connection of the worker; pass a transaction of your own: ctx.completeWith(tx, result)'
      throw new HoldfastError('unknown_transaction', message, { field: 'tx' })
    }
    let result: unknown
    try {
      await transact(async (client) => {
        result = await work(client)
        await this.#end(asQueryable(client), result)
      })
    } catch (error) {
      if (this.#state !== 'sent') throw error
      if (!(await this.#standsAfter(error))) {
        this.#state = 'unused'
        throw error
      }
    }
    this.#state = 'written'
    return result
  }

  /** Whether a commit that failed was done all the same. The connection broke, so the database may be away for a moment. */
  async #standsAfter(error: unknown): Promise<boolean> {
    const { services, job } = this.#attempt
    for (const pauseMs of looksMs) {
      await sleep(pauseMs)
      try {
        return (await services.completionStands(job)) === 'written'
      } catch (problem) {
        if (!isConnectionTrouble(problem)) throw error
      }
    }
    // Unknown still: whoever settles this attempt is told by the database.
    throw error
  }

  async #end(tx: Queryable, value: unknown): Promise<void> {
    const { job, services, startedAtMs } = this.#attempt
    const kept = completedWith(value, job.type.maxResultBytes)
    if (kept.kind === 'failed') throw new FatalError(kept.failure.message)
    const result = kept.kind === 'completed' ? (kept.result ?? null) : null
    if (this.#attempt.usesSteps) await this.#attempt.steps.finish()
    await this.#attempt.asHolder(async () => {
      const { text, values } = await services.completion(job, {
        startedAgoMs: startedAtMs === null ? 0 : monotonicMs() - startedAtMs,
        result,
      })
      this.#state = 'sent'
      const [row] = await tx.query<{ held: boolean }>(text, values)
      if (row?.held !== true) this.#state = 'unused'
      return row?.held === true
    })
  }
}

/** postgres.js and Knex hand out transactions that can be called like functions. */
function isWork(given: unknown): given is Work {
  return typeof given === 'function' && !('unsafe' in given) && !('raw' in given)
}

function notCommitted(): HoldfastError {
  return new HoldfastError('not_committed', 'the handler returned, but the transaction given to completeWith was not committed')
}
