import { type FastifyInstance, fastify } from 'fastify'
import type { Holdfast } from '../holdfast.js'
import { defaultLogger, type Logger } from '../worker/logger.js'
import type { Worker } from '../worker/worker.js'
import { requireKey } from './auth.js'
import { readBodiesExactly } from './body.js'
import { answerFrameworkError, answerProblems } from './problem.js'
import { healthRoutes } from './routes/health.js'
import { jobRoutes } from './routes/jobs.js'
import { pageRoutes } from './routes/page.js'
import { statusRoutes } from './routes/status.js'
import { workerRoutes } from './routes/worker.js'
import { securityHeaders } from './security-headers.js'

export interface ServerOptions {
  /** Whoever sends it may do everything. */
  adminKey: string
  /** The worker in this process, if there is one: its health is then the server's. */
  worker?: Worker
  /** Where errors go that nobody expected. */
  logger?: Logger
}

const bodyLimit = 128 * 1024
const requestTimeoutMs = 30_000

/** The HTTP server, complete and not yet listening: call `listen`, and `close` when done. It closes neither database nor worker. */
export function createServer(holdfast: Holdfast, options: ServerOptions): FastifyInstance {
  const log = options.logger ?? defaultLogger()
  const app = fastify({
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    frameworkErrors: answerFrameworkError,
    // As it comes or not at all: by default unknown fields would be dropped and a text taken for a number, both without a word.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false, verbose: true } },
  })
  app.addHook('onSend', async (_request, reply) => void reply.headers(securityHeaders))
  // The line break is for people who ask with curl: without it their prompt stands behind the answer.
  app.setReplySerializer((payload) => `${JSON.stringify(payload)}\n`)
  answerProblems(app, log)
  readBodiesExactly(app)
  requireKey(app, options.adminKey)
  pageRoutes(app)
  healthRoutes(app, holdfast, options.worker)
  jobRoutes(app, holdfast)
  statusRoutes(app, holdfast, options.worker)
  workerRoutes(app, holdfast, log)
  return app
}
