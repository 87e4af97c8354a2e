import { HoldfastError } from '../errors.js'
import type { Io } from './io.js'
import { painter } from './paint.js'

/** Prints an error to standard error: a known one as a sentence, an unexpected one with its stack. */
export function complain({ err, env }: Io, error: unknown, { json }: { json: boolean }): void {
  const known = error instanceof HoldfastError || isFromDatabase(error)
  if (json) {
    const { code, message, field } = error as HoldfastError
    err.write(`${JSON.stringify({ error: { code: known ? code : 'unexpected', message, field } })}\n`)
    return
  }
  const said = known ? (error as Error).message : `unexpected error: ${(error as Error)?.stack ?? String(error)}`
  err.write(`${painter('red', err, env)('holdfast:')} ${said}\n`)
}

/** PostgreSQL explains its refusals (a wrong password, no such database) in a sentence; our stack would add nothing. */
function isFromDatabase(error: unknown): boolean {
  return error instanceof Error && /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code))
}
