import type { FastifyRequest } from 'fastify'
import { allows } from '../access/permissions.js'
import type { Callers, KnownCaller } from './callers.js'

const everyMs = 2_000

/**
 * Looks again, every two seconds, whether who was let in would be let in now, and calls `end` once that is no longer so. For
 * answers that go on for hours: a key that is revoked must not be good for whatever it had opened. Returns how to stop.
 */
export function whileAllowed(request: FastifyRequest, callers: Callers, end: () => void): () => void {
  const { credential } = request.known as KnownCaller
  const { rule } = request.routeOptions.config
  const isAllowed = async () => {
    const known = await callers.find(credential)
    return known !== undefined && (rule === undefined || rule === 'open' || rule === 'any key' || allows(known.caller, rule))
  }
  const timer = setInterval(() => {
    // A database that is away says nothing against anybody.
    isAllowed().then(
      (yes) => yes || end(),
      () => {},
    )
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
