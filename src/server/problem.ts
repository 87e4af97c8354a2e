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

/** Answers every error and every unknown path with a problem. An unexpected error goes to the log and not to the caller. */
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

/** For requests that fail before they reach a route, such as a path that cannot be decoded. */
export function answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: unknown): void {
  // No hook runs for these, so the headers of every answer are added here.
  sendProblem((reply as FastifyReply).headers(headersOver(request.protocol)), asHoldfastError(error))
}

/** For what is not HTTP, or has too many headers: there is no request and no reply yet, so the answer is written to the socket. */
export function answerUnparsed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const tooLong = error.code === 'HPE_HEADER_OVERFLOW'
  const refusal = tooLong
    ? new HoldfastError('request_too_large', 'the path and headers have more than 16 KB')
    : new HoldfastError('invalid_request', 'this is not an HTTP request, or the rest of it did not arrive in time')
  const body = `${JSON.stringify(problem(refusal))}\n`
  const headers = {
    ...headersOver('encrypted' in socket ? 'https' : 'http'),
    'content-type': 'application/problem+json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines, '', body].join('\r\n'))
  // The client may never close its half.
  socket.destroySoon()
}

/** HTTP/1.1 requires a Host. Node would refuse the request too, but with an empty answer. */
export function refuseWithoutHost({ raw }: FastifyRequest): void {
  if (raw.headers.host !== undefined || raw.httpVersion !== '1.1') return
  throw new HoldfastError('invalid_request', 'the header Host is missing; HTTP/1.1 requires it')
}

/** Without a key, a caller does not learn where the database is and what is wrong with it. */
function withoutReason(error: HoldfastError): HoldfastError {
  if (!['database_unavailable', 'schema_outdated', 'permission_denied'].includes(error.code)) return error
  return new HoldfastError(error.code, 'the server cannot reach its database at the moment')
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
      return new HoldfastError('request_too_large', 'the body is too large; most paths take at most 128 KB')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HoldfastError('unsupported_media_type', 'send JSON, with Content-Type: application/json')
  }
  // What the framework refuses is the caller's mistake, and its message is meant for the caller.
  if (code?.startsWith('FST_') && statusCode !== undefined && statusCode < 500) {
    return new HoldfastError('invalid_request', message)
  }
  return new HoldfastError('internal_error', 'the request failed unexpectedly; the log of the server has the error')
}

/** The path without the query, which may have secrets in it. */
function pathOf(request: FastifyRequest): string {
  return (request.url.split('?')[0] ?? '').slice(0, 200)
}
