import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Problem } from '../api/problem.js'
import { errorTable, HoldfastError, UniqueConflictError } from '../errors.js'
import { fieldOf, type Issue, textOf } from '../issue.js'
import { explained } from '../store/sqlstate.js'
import type { Logger } from '../worker/logger.js'
import { headersOver } from './security-headers.js'
import { snakeCase } from './spelling.js'

/** Answers every error and every unknown path with a problem. What nobody expected goes to the log and not to the caller. */
export function answerProblems(app: FastifyInstance, log: Logger): void {
  app.setNotFoundHandler((request) => {
    throw new HoldfastError('not_found', `there is no ${request.method} ${pathOf(request)}`)
  })
  app.setErrorHandler((error, request, reply) => {
    const known = asHoldfastError(error)
    if (known.code === 'internal_error') {
      log.error(
        { request: request.id, path: pathOf(request), error: String((error as Error)?.stack ?? error) },
        'a request failed',
      )
    }
    sendProblem(reply, request.known ? known : withoutReason(known))
  })
}

/** For what fails before it reaches a route, such as a path that cannot be decoded. */
export function answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: unknown): void {
  // No hook runs for these, so what every answer carries is added here.
  sendProblem((reply as FastifyReply).headers(headersOver(request.protocol)), asHoldfastError(error))
}

/** For what is not HTTP, or has more headers than are read: there is no request yet, and so no reply but the socket itself. */
export function answerUnparsed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW'
  const refusal = tooLong
    ? new HoldfastError('request_too_large', 'the path and headers have more bytes than are taken here: 16 KB')
    : new HoldfastError('invalid_request', 'this is not an HTTP request, or the rest of it did not come in time')
  const body = `${JSON.stringify(problem(refusal))}\n`
  const headers = {
    ...headersOver('encrypted' in socket ? 'https' : 'http'),
    'content-type': 'application/problem+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines, '', body].join('\r\n'))
  // The other side may never close its half.
  socket.destroySoon()
}

/** HTTP/1.1 demands a Host. Node would say so too, but with an empty answer that no program can read. */
export function refuseWithoutHost({ raw }: FastifyRequest): void {
  if (raw.headers.host !== undefined || raw.httpVersion !== '1.1') return
  throw new HoldfastError('invalid_request', 'the header Host is missing, without which there is no HTTP/1.1 request')
}

/** Who has shown no key is not told where the database is and what is wrong with it. */
function withoutReason(error: HoldfastError): HoldfastError {
  if (!['database_unavailable', 'schema_outdated', 'permission_denied'].includes(error.code)) return error
  return new HoldfastError(error.code, 'the server cannot ask its database just now')
}

function sendProblem(reply: FastifyReply, error: HoldfastError): void {
  if (error.retryable) reply.header('retry-after', String(Math.max(1, Math.ceil((error.retryAfterMs ?? 0) / 1_000))))
  // The body is a text already: an object would be sent as application/json.
  reply
    .status(error.status)
    .type('application/problem+json; charset=utf-8')
    .send(`${JSON.stringify(problem(error))}\n`)
}

function problem(error: HoldfastError): Problem {
  const { code, status, message, field } = error
  return {
    type: `urn:holdfast:error:${code}`,
    code,
    title: errorTable[code].title,
    status,
    detail: message,
    ...(field === undefined ? {} : { field }),
    ...(error.issues.length < 2 ? {} : { errors: error.issues.map(told) }),
    ...(error instanceof UniqueConflictError && error.jobId !== undefined ? { job_id: error.jobId } : {}),
  }
}

function told({ path, problem, words }: Issue): { field: string; detail: string } {
  return { field: fieldOf(path, snakeCase), detail: words ? textOf(words, snakeCase) : problem }
}

function asHoldfastError(error: unknown): HoldfastError {
  const known = explained(error)
  if (known instanceof HoldfastError) return known
  const { code, statusCode, message } = error as FastifyError
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new HoldfastError('request_too_large', 'the body has more bytes than are taken here: 128 KB on most paths')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HoldfastError('unsupported_media_type', 'send JSON, with Content-Type: application/json')
  }
  // What the framework itself refuses is the caller's mistake and its words are meant for the caller.
  if (code?.startsWith('FST_') && statusCode !== undefined && statusCode < 500) {
    return new HoldfastError('invalid_request', message)
  }
  return new HoldfastError('internal_error', 'the server has written to its log what it was')
}

/** Without the query, which may hold what should not be written down. */
function pathOf(request: FastifyRequest): string {
  return (request.url.split('?')[0] ?? '').slice(0, 200)
}
