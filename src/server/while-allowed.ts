import type { FastifyRequest } from 'fastify'
import { allows } from '../access/caller.js'
import { HoldfastError } from '../errors.js'
import type { Callers, KnownCaller } from './callers.js'

/** With the second for which an answer about a key is remembered, two at most. */
const everyMs = 900

/**
 * Looks again, all the time, whether who was let in would be let in now, and calls `end` once that is no longer so. For answers
 * that are long in coming: a key that is revoked must not be good for whatever it had opened. Returns how to stop.
 */
export function whileAllowed(request: FastifyRequest, callers: Callers, end: () => void): () => void {
  const timer = setInterval(() => void isAllowed(request, callers).then((yes) => yes || end()), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** For an answer that was waited for, before it is sent. */
export async function refuseIfNoLongerAllowed(request: FastifyRequest, callers: Callers): Promise<void> {
  if (await isAllowed(request, callers)) return
  throw new HoldfastError('unauthorized', 'the key was revoked or has expired while this was waited for')
}

async function isAllowed(request: FastifyRequest, callers: Callers): Promise<boolean> {
  const { credential } = request.known as KnownCaller
  const { rule } = request.routeOptions.config
  try {
    const known = await callers.find(credential)
    return known !== undefined && (rule === undefined || rule === 'open' || rule === 'any key' || allows(known.caller, rule))
  } catch {
    // A database that is away says nothing against anybody.
    return true
  }
}
