import type { FastifyInstance, FastifyReply } from 'fastify'
import { text } from '../../api/common.js'
import { answer } from '../../api/schema.js'
import { monotonicMs } from '../../clock.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import type { ServerOptions } from '../options.js'

const status = answer({ status: text })
const response = { 200: status, 503: status }
const freshForMs = 500

/** /healthz is open to everybody and /readyz to every key, so they do not give reasons, which would name hosts and ports. */
export function healthRoutes(app: FastifyInstance, holdfast: Holdfast, { worker, stopping }: ServerOptions): void {
  const { inspect } = insideOf(holdfast).store
  const alive = remembered(() => inspect.ping())
  const upToDate = remembered(() => inspect.checkSchema())
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  const isStopping = () => closing || stopping?.aborted === true

  app.get('/healthz', { schema: { summary: 'Whether it is alive and truly polling', response } }, async (_request, reply) =>
    answerWith(reply, isStopping() ? 'stopping' : worker ? worker.health().status : (await alive()) ? 'ok' : 'unhealthy'),
  )

  app.get('/readyz', { schema: { summary: 'Whether requests can be sent here now', response } }, async (_request, reply) =>
    answerWith(reply, isStopping() ? 'stopping' : (await upToDate()) ? 'ok' : 'unavailable'),
  )
}

function answerWith(reply: FastifyReply, status: string): FastifyReply {
  return reply
    .status(status === 'ok' ? 200 : 503)
    .header('cache-control', 'no-store')
    .send({ status })
}

/** Whether a check succeeds. It runs at most twice a second, so that frequent requests cannot keep the database busy. */
function remembered(ask: () => Promise<void>): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  return () => {
    if (!answer || monotonicMs() - askedAt > freshForMs) {
      askedAt = monotonicMs()
      answer = ask().then(
        () => true,
        () => false,
      )
    }
    return answer
  }
}
