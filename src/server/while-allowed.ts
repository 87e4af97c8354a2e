import type { FastifyRequest } from 'fastify'
import { allows } from '../access/caller.js'
import { HoldfastError } from '../errors.js'
import type { Callers, KnownCaller } from './callers.js'

/** With the second for which a key is cached, a revoked key ends within two. */
const everyMs = 900

/**
 * Checks again and again whether the caller would still be accepted, and calls `end` once that is not so. It is for long answers: a
 * revoked key must not keep what it had opened. Returns a function that stops it.
 */
export function whileAllowed(request: FastifyRequest, callers: Callers, end: () => void): () => void {
  const timer = setInterval(() => void isAllowed(request, callers).then((yes) => yes || end()), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Called before a long-awaited answer is sent. */
export async function refuseIfNoLongerAllowed(request: FastifyRequest, callers: Callers): Promise<void> {
  if (await isAllowed(request, callers)) return
  throw new HoldfastError('unauthorized', 'the key was revoked or has expired during the request')
}

async function isAllowed(request: FastifyRequest, callers: Callers): Promise<boolean> {
  const { credential } = request.known as KnownCaller
  const { rule } = request.routeOptions.config
  try {
    const known = await callers.find(credential)
    return known !== undefined && (rule === undefined || rule === 'open' || rule === 'any key' || allows(known.caller, rule))
  } catch {
    // A database that cannot be reached is no reason to refuse.
    return true
  }
}
