import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HoldfastError } from '../errors.js'
import { type Unfit, unfitIn } from './json-scan.js'

/** A larger body counts as one more request of the caller for each of these. */
const bytesPerRequest = 64 * 1024

/**
 * Accepts only JSON, and refuses what parsing would change silently: bytes that are not UTF-8, numbers that JavaScript cannot
 * represent, a field twice in one object; and what would take long to parse. `__proto__` becomes a property like any other, and stays
 * one because nothing copies by assignment.
 */
export function readBodiesExactly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addHook('preParsing', async ({ raw }, _reply, payload) => {
    // A server that this one is mounted in may have parsed it, which is not exact, and nothing of it would ever arrive here.
    if (raw.readableDidRead || raw.readableEnded) throw bodyIsGone()
    return payload
  })
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      payFor(request, body.length)
      done(null, parseExactly(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

function bodyIsGone(): HoldfastError {
  const problem = 'something before Holdfast has read the body of the request; mount Holdfast before express.json() and its like'
  return new HoldfastError('invalid_configuration', problem)
}

/** Counted before the body is parsed, so that refused bodies count too. */
function payFor(request: FastifyRequest, bytes: number): void {
  request.known?.bucket?.spend(Math.floor(bytes / bytesPerRequest))
}

export function parseExactly(body: Uint8Array): unknown {
  const notJson = (error: unknown) => new HoldfastError('invalid_request', `the body is not JSON: ${(error as Error).message}`)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (error) {
    throw notJson(error)
  }
  const unfit = unfitIn(text)
  if (unfit) throw refusal(unfit)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw notJson(error)
  }
}

function refusal(unfit: Unfit): HoldfastError {
  switch (unfit.problem) {
    case 'deep':
      return new HoldfastError('invalid_request', `the body is nested more than ${unfit.depth} levels deep`)
    case 'many':
      return new HoldfastError(
        'request_too_large',
        `the body has more than ${unfit.tokens} names, values and lists; send it in parts`,
      )
    case 'names':
      return new HoldfastError('request_too_large', `the body has more than ${unfit.names} field names; send it in parts`)
    case 'twice': {
      const name = JSON.stringify(unfit.name.slice(0, 60))
      return new HoldfastError('invalid_request', `the body has the field ${name} twice in one object; send it once`)
    }
    case 'lossy': {
      const problem = `the number ${unfit.number.slice(0, 60)} cannot be stored exactly; send it as a text, in quotes`
      return new HoldfastError('invalid_payload', problem, { field: 'payload' })
    }
  }
}
