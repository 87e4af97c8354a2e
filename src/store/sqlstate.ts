import { HoldfastError, UniqueConflictError } from '../errors.js'
import { didYouMean } from '../job/nearest.js'

interface DatabaseError {
  code?: string
  message?: string
  detail?: string
  hint?: string
  constraint?: string
}

const networkCodes = new Set([
  'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT',
]) // biome-ignore format: one list
const networkTexts = [
  'Connection terminated', 'Query read timeout', 'timeout exceeded when trying to connect', 'timeout expired',
  'Client was closed', 'Cannot use a pool after', 'Client has encountered a connection error',
] // biome-ignore format: one list

/** The server is away, going away, coming up, full, or read-only after a failover: another connection may fare better. */
export function isConnectionTrouble(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as DatabaseError
  if (networkCodes.has(code) || networkTexts.some((text) => message.includes(text))) return true
  return code.startsWith('08') || /^57P0[1-5]$/.test(code) || code === '53300' || code === '25006' || code === '57014'
}

/** The same statement may succeed if it is simply run again: trouble with the connection, a deadlock, a full disk. */
export function mayPass(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as DatabaseError
  return isConnectionTrouble(error) || code.startsWith('40') || code.startsWith('53') || code.startsWith('55')
}

/** The error a caller of Holdfast sees in place of the driver's. What is not ours to explain passes unchanged. */
export function explained(error: unknown): unknown {
  if (error instanceof HoldfastError || error === null || typeof error !== 'object') return error
  const { code, message = '', detail, hint, constraint } = error as DatabaseError
  const text = hint ? `${message}. ${hint}` : message
  switch (code) {
    case 'HF001': {
      const known = detail ? detail.split(', ') : []
      const asked = /"(.*)"/.exec(message)?.[1] ?? ''
      return new HoldfastError('unknown_type', `${message}${didYouMean(asked, known)}`, { field: 'type', cause: error })
    }
    case 'HF004': {
      const known = detail ? detail.split(', ') : []
      const asked = /"(.*)"/.exec(message)?.[1] ?? ''
      return new HoldfastError('unknown_lane', `${message}${didYouMean(asked, known)}`, { field: 'lane', cause: error })
    }
    case 'HF002':
      return new HoldfastError('invalid_option', text, { cause: error })
    case 'HF003':
      return new HoldfastError('payload_too_large', text, { field: 'payload', cause: error })
    case 'HF409':
      return new UniqueConflictError(detail ?? '', error)
    case '42P01': // undefined table
    case '3F000': // undefined schema
    case '42883': // undefined function
      return new HoldfastError('schema_outdated', `${message}. Run: holdfast migrate`, { cause: error })
    case '23514':
      return new HoldfastError('invalid_option', `refused by ${constraint?.replaceAll('_', ' ')}`, { cause: error })
  }
  if (isConnectionTrouble(error)) {
    return new HoldfastError('database_unavailable', `the database did not answer: ${message}`, { cause: error })
  }
  return error
}
