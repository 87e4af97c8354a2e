import type { FastifyInstance, FastifyReply } from 'fastify'
import { HoldfastError } from '../errors.js'
import type { Database } from '../store/database.js'

/** After so long a request asks whether the database is there. With what the question takes, that stays under two seconds. */
const patienceMs = 1_000
const answerWithinMs = 700
/** A database that has answered anybody in this time is there. */
const recentlyMs = 250
/** Waits and long polls are meant to last: they ask less and less often. */
const longestPauseMs = 30_000

/**
 * Answers a request with 503 while the database says nothing, as behind a network that swallows every byte: its client can try another server,
 * or this one again, and holds nothing meanwhile. A statement that merely takes long is waited for. What the request had sent may yet be done.
 */
export function answerSilence(app: FastifyInstance, databases: readonly [Database, ...Database[]]): void {
  let asking: Promise<boolean> | undefined
  const isThere = (): Promise<boolean> => {
    // Requests that wait together ask once.
    asking ??= databases[0].answers(answerWithinMs).finally(() => {
      asking = undefined
    })
    return asking
  }
  const watch = (reply: FastifyReply): void => {
    let timer = setTimeout(look, patienceMs, patienceMs)
    reply.raw.once('close', () => clearTimeout(timer))
    async function look(pauseMs: number): Promise<void> {
      const heard = databases.some(({ silentMs }) => silentMs < recentlyMs)
      const there = heard || (await isThere())
      if (reply.sent || reply.raw.destroyed) return
      if (!there) {
        const problem = 'the database does not answer; what was asked for may yet be done, so send it again as it is'
        reply.send(new HoldfastError('database_unavailable', problem, { retryAfterMs: 1_000 }))
      } else if (heard) timer = setTimeout(look, recentlyMs, pauseMs)
      else timer = setTimeout(look, pauseMs, Math.min(longestPauseMs, pauseMs * 2))
    }
  }
  app.addHook('onRequest', (_request, reply, done) => {
    watch(reply)
    done()
  })
}
