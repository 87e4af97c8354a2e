import type { FastifyInstance } from 'fastify'
import { HoldfastError } from '../errors.js'

/**
 * Takes JSON and nothing else, and refuses what reading it would change without a word: bytes that are no UTF-8, and numbers
 * that JavaScript cannot hold. `__proto__` becomes a property like any other, which it stays because nothing copies by assignment.
 */
export function readBodiesExactly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseExactly(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

export function parseExactly(body: Uint8Array): unknown {
  let text: string
  let value: unknown
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    value = JSON.parse(text)
  } catch (error) {
    throw new HoldfastError('invalid_request', `the body is not JSON: ${(error as Error).message}`)
  }
  const lossy = numberThatWouldChange(text)
  if (lossy === undefined) return value
  throw new HoldfastError(
    'invalid_payload',
    `the number ${lossy.slice(0, 60)} cannot be held exactly; send it as a text, in quotes`,
    { field: 'payload' },
  )
}

/** Texts are matched too, so that digits inside them are passed over. */
const textsAndNumbers = /"(?:[^"\\]|\\.)*"|-?\d+(\.\d+)?([eE][+-]?\d+)?/g

function numberThatWouldChange(json: string): string | undefined {
  for (const [literal, fraction, exponent] of json.matchAll(textsAndNumbers)) {
    if (literal.startsWith('"')) continue
    const value = Number(literal)
    if (!Number.isFinite(value)) return literal
    const isWhole = fraction === undefined && exponent === undefined
    if (isWhole && !Number.isSafeInteger(value) && BigInt(literal) !== BigInt(value)) return literal
  }
  return undefined
}
