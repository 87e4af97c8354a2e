import { type FastifyInstance, type FastifyServerOptions, fastify } from 'fastify'
import type { Schema } from '../api/schema.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { Meter } from '../metrics/meter.js'
import { defaultLogger } from '../worker/logger.js'
import { authorize } from './auth.js'
import { readBodiesExactly } from './body.js'
import { Callers } from './callers.js'
import { closeInTime } from './closing.js'
import { keepCounting } from './counting.js'
import { Ends } from './ends.js'
import { describeRoutes } from './openapi.js'
import { checkServerOptions, type ServerOptions } from './options.js'
import { withoutPrefix } from './prefix.js'
import { answerFrameworkError, answerProblems, answerUnparsed, refuseWithoutHost } from './problem.js'
import { Reading } from './reading.js'
import { adminAccessRoutes } from './routes/admin-access.js'
import { adminAlertRoutes } from './routes/admin-alerts.js'
import { adminBuildRoutes } from './routes/admin-builds.js'
import { adminDependencyRoutes } from './routes/admin-dependencies.js'
import { adminDlqRoutes } from './routes/admin-dlq.js'
import { adminFlowRoutes } from './routes/admin-flow.js'
import { adminScheduleRoutes } from './routes/admin-schedules.js'
import { adminSettingRoutes } from './routes/admin-settings.js'
import { adminTypeRoutes } from './routes/admin-types.js'
import { adminWorkerRoutes } from './routes/admin-workers.js'
import { autoscaleRoutes } from './routes/autoscale.js'
import { batchRoutes } from './routes/batches.js'
import { bulkRoutes } from './routes/bulk.js'
import { doctorRoutes } from './routes/doctor.js'
import { errorRoutes } from './routes/errors.js'
import { eventRoutes } from './routes/events.js'
import { executionWaitRoute } from './routes/execution-wait.js'
import { executionRoutes } from './routes/executions.js'
import { followJobRoutes } from './routes/follow-job.js'
import { healthRoutes } from './routes/health.js'
import { jobListRoutes } from './routes/job-list.js'
import { jobMoveRoutes } from './routes/job-moves.js'
import { jobRoutes } from './routes/jobs.js'
import { metricsRoutes } from './routes/metrics.js'
import { oidcRoutes } from './routes/oidc.js'
import { oneJobRoutes } from './routes/one-job.js'
import { pageRoutes } from './routes/page.js'
import { seriesRoutes } from './routes/series.js'
import { sessionRoutes } from './routes/session.js'
import { statusRoutes } from './routes/status.js'
import { workerRoutes } from './routes/worker.js'
import { headersOver } from './security-headers.js'
import { answerSilence } from './silence.js'
import { ClientCertificates, httpsOptions, refuseOpenNetwork } from './tls.js'
import { check } from './validate.js'

const bodyLimit = 128 * 1024
const requestTimeoutMs = 30_000
const longestParameter = 600

/**
 * The HTTP server, complete and not yet listening: call `listen`, and `close` when done. It closes neither database nor worker.
 * @example
 * import { createServer } from 'holdfast/server'
 *
 * const server = createServer(holdfast, { adminKey: process.env.ADMIN_KEY ?? '' })
 * await server.listen({ host: '127.0.0.1', port: 8080 })
 */
export function createServer(holdfast: Holdfast, options: ServerOptions): FastifyInstance {
  checkServerOptions(options)
  const { tls, prefix = '' } = options
  const app = makeApp(holdfast, options, {
    ...(tls ? { https: { ...httpsOptions(tls), requireHostHeader: false } } : { http: { requireHostHeader: false } }),
    ...(prefix === '' ? {} : { rewriteUrl: ({ url = '/' }) => withoutPrefix(url, prefix) }),
  })
  if (!tls && !options.allowInsecure) refuseOpenNetwork(app)
  return app
}

/** The application, for a server of its own or to be given the requests of another. */
export function makeApp(
  holdfast: Holdfast,
  options: ServerOptions,
  listening: FastifyServerOptions = {},
  { cutOff = true } = {},
): FastifyInstance {
  const log = options.logger ?? defaultLogger()
  const meter = new Meter()
  const callers = new Callers(holdfast.access, options.adminKey)
  const certificates = new ClientCertificates(options.tls)
  const reading = new Reading(holdfast, options.reading)
  const app = fastify({
    ...listening,
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    routerOptions: { maxParamLength: longestParameter },
    ...(options.trustProxy && { trustProxy: [...options.trustProxy] }),
    frameworkErrors: answerFrameworkError,
    clientErrorHandler: answerUnparsed,
  }) as FastifyInstance
  const closing = closeInTime(app, { cutOff, stopping: options.stopping })
  app.addHook('onRequest', async (request) => refuseWithoutHost(request))
  app.addHook('onSend', async (request, reply) => void reply.headers(headersOver(request.protocol)))
  // The line break is for people who use curl: without it their prompt is on the line of the answer.
  app.setReplySerializer((payload) => `${JSON.stringify(payload)}\n`)
  answerProblems(app, log)
  answerSilence(app, [insideOf(holdfast).store.database, insideOf(reading.reader).store.database])
  readBodiesExactly(app)
  checkRequests(app)
  authorize(app, callers, certificates)
  keepCounting(app, insideOf(holdfast).store, meter, log)
  describeRoutes(app)
  app.addHook('onClose', () => reading.close())
  pageRoutes(app)
  sessionRoutes(app, callers, options.traceUrl)
  oidcRoutes(app, callers, options.oidc, log)
  healthRoutes(app, holdfast, options)
  jobRoutes(app, holdfast)
  jobListRoutes(app, reading)
  bulkRoutes(app, holdfast, reading)
  oneJobRoutes(app, holdfast, reading)
  jobMoveRoutes(app, holdfast)
  eventRoutes(app, holdfast, reading)
  batchRoutes(app, holdfast, reading)
  const ends = new Ends(reading, callers, closing)
  executionRoutes(app, holdfast, reading)
  executionWaitRoute(app, reading, ends)
  followJobRoutes(app, reading, ends)
  // Concurrent requests share one query of the status, so it needs no connection for reading; autoscale counts anew, which writes.
  statusRoutes(app, insideOf(holdfast).hasReplica ? reading.lists : holdfast, options.worker)
  autoscaleRoutes(app, holdfast)
  metricsRoutes(app, reading.lists)
  seriesRoutes(app, reading)
  errorRoutes(app, reading)
  doctorRoutes(app, holdfast)
  adminBuildRoutes(app, holdfast)
  workerRoutes(app, holdfast, callers, log, meter)
  adminWorkerRoutes(app, holdfast)
  adminTypeRoutes(app, holdfast)
  adminDependencyRoutes(app, holdfast)
  adminFlowRoutes(app, holdfast)
  adminSettingRoutes(app, holdfast)
  adminScheduleRoutes(app, holdfast, reading)
  adminDlqRoutes(app, holdfast, reading)
  adminAlertRoutes(app, holdfast)
  adminAccessRoutes(app, holdfast, callers, reading)
  return app
}

/** Requests are checked against the schemas of their routes; answers are made by typed code, and checked by the tests. */
function checkRequests(app: FastifyInstance): void {
  const parts: Record<string, 'body' | 'query' | 'params'> = { body: 'body', querystring: 'query', params: 'params' }
  app.setValidatorCompiler<Schema>(({ schema, httpPart = 'body' }) => {
    const part = parts[httpPart] ?? 'params'
    return (data: unknown) => {
      try {
        return { value: check(schema, data, part) }
      } catch (error) {
        return { error: error as Error }
      }
    }
  })
  app.setSerializerCompiler(() => JSON.stringify)
}
