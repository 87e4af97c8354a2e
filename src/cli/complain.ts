import { HoldfastError } from '../errors.js'
import { red } from './print.js'

/** Says on standard error what went wrong: in a sentence where we know what it was, with everything where we do not. */
export function complain(error: unknown, { json }: { json: boolean }): void {
  const known = error instanceof HoldfastError || isFromDatabase(error)
  if (json) {
    const { code, message, field } = error as HoldfastError
    process.stderr.write(`${JSON.stringify({ error: { code: known ? code : 'unexpected', message, field } })}\n`)
    return
  }
  const said = known ? (error as Error).message : `this should not have happened: ${(error as Error)?.stack ?? String(error)}`
  process.stderr.write(`${red('holdfast:')} ${said}\n`)
}

/** What Postgres refuses (a wrong password, no such database) it says in a sentence; our stack would add nothing. */
function isFromDatabase(error: unknown): boolean {
  return error instanceof Error && /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code))
}
