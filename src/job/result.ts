import { HoldfastError } from '../errors.js'
import { describeFailure } from './failure.js'
import type { Outcome } from './outcome.js'
import { encodePayload } from './payload.js'

/** What a type keeps of results that does not say. */
export const defaultResultBytes = 65_536
/** A result goes with its job through every list of a settle; beyond this it belongs into a store of its own. */
export const mostResultBytes = 1_048_576

/**
 * The end of an attempt whose handler returned a value: completed with the JSON of it, or failed for good where it cannot be kept. For good,
 * because the work is done and doing it again would return the same. No bytes: results of the type are not kept.
 */
export function completedWith(value: unknown, maxBytes: number): Outcome {
  if (value === undefined || maxBytes === 0) return { kind: 'completed' }
  try {
    return { kind: 'completed', result: encodeResult(value, maxBytes) }
  } catch (error) {
    return { kind: 'failed', failure: describeFailure(error), fatal: true }
  }
}

function encodeResult(value: unknown, maxBytes: number): string {
  try {
    const text = encodePayload(value, 'result', maxBytes)
    if (!text.startsWith('{"$enc"')) return text
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
    if (error.code === 'payload_too_large') throw new HoldfastError('result_too_large', error.message, { field: 'result' })
    throw new HoldfastError('invalid_result', error.message, { field: error.field ?? 'result' })
  }
  throw new HoldfastError('invalid_result', 'result begins with the field "$enc", which stands for what is encrypted', {
    field: 'result',
  })
}
