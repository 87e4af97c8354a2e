import { HoldfastError } from '../errors.js'
import { red } from './print.js'

/** Prints an error to standard error: a known one as a sentence, an unexpected one with its stack. */
export function complain(error: unknown, { json }: { json: boolean }): void {
  const known = error instanceof HoldfastError || isFromDatabase(error)
  if (json) {
    const { code, message, field } = error as HoldfastError
    process.stderr.write(`${JSON.stringify({ error: { code: known ? code : 'unexpected', message, field } })}\n`)
    return
  }
  const said = known ? (error as Error).message : `unexpected error: ${(error as Error)?.stack ?? String(error)}`
  process.stderr.write(`${red('holdfast:')} ${said}\n`)
}

/** PostgreSQL explains its refusals (a wrong password, no such database) in a sentence; our stack would add nothing. */
function isFromDatabase(error: unknown): boolean {
  return error instanceof Error && /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code))
}
