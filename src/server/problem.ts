import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { type ErrorCode, errorTable, HoldfastError } from '../errors.js'
import { didYouMean } from '../job/nearest.js'
import { explained } from '../store/sqlstate.js'
import type { Logger } from '../worker/logger.js'
import { securityHeaders } from './security-headers.js'

/** What a request that failed is answered with, as application/problem+json (RFC 9457). */
export interface Problem {
  type: string
  /** From the table of errors: stable, for programs. */
  code: ErrorCode
  title: string
  status: number
  /** What was wrong this time, for a person. */
  detail: string
  /** The field of the request that was wrong, where there is one. */
  field?: string
}

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
    sendProblem(reply, known)
  })
}

/** For what fails before it reaches a route, such as a path that cannot be decoded. */
export function answerFrameworkError(error: FastifyError, _request: unknown, reply: unknown): void {
  // No hook runs for these, so what every answer carries is added here.
  sendProblem((reply as FastifyReply).headers(securityHeaders), asHoldfastError(error))
}

function sendProblem(reply: FastifyReply, error: HoldfastError): void {
  if (error.retryable) reply.header('retry-after', '1')
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
  }
}

function asHoldfastError(error: unknown): HoldfastError {
  const known = explained(error)
  if (known instanceof HoldfastError) return known
  const { code, statusCode, message, validation } = error as FastifyError
  if (validation?.[0]) return unfit(validation[0])
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new HoldfastError('request_too_large', 'the body is larger than this path takes, which for most is 128 KB')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new HoldfastError('unsupported_media_type', 'send JSON, with Content-Type: application/json')
  }
  // What the framework itself refuses is the caller's mistake and its words are meant for the caller.
  if (code?.startsWith('FST_') && statusCode !== undefined && statusCode < 500) {
    return new HoldfastError('invalid_request', message)
  }
  return new HoldfastError('internal_error', 'the server has written to its log what it was')
}

/** What a schema refused: the field as a caller would write it, and what it would take. */
function unfit({ instancePath, keyword, params, message, ...verbose }: FastifySchemaValidationError): HoldfastError {
  const place = instancePath
    .slice(1)
    .replace(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.')
  const under = (name: unknown) => (place === '' ? String(name) : `${place}.${name}`)
  if (keyword === 'additionalProperties') {
    const known = Object.keys((verbose as { parentSchema?: { properties?: object } }).parentSchema?.properties ?? {})
    const name = String(params.additionalProperty)
    const field = under(name).slice(0, 200)
    return new HoldfastError('invalid_option', `${field} is not known${didYouMean(name, known)}; known are ${known.join(', ')}`, {
      field,
    })
  }
  if (keyword === 'required') {
    const field = under(params.missingProperty)
    return new HoldfastError('invalid_option', `${field} is missing`, { field })
  }
  const field = place || 'body'
  return new HoldfastError('invalid_option', `${field} ${message ?? 'cannot be that'}`, { field })
}

/** Without the query, which may hold what should not be written down. */
function pathOf(request: FastifyRequest): string {
  return (request.url.split('?')[0] ?? '').slice(0, 200)
}
