import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type SessionBody, sessionAnswer, sessionBody } from '../../api/session.js'
import { HoldfastError } from '../../errors.js'
import { actor, callerOf, spend } from '../auth.js'
import type { Callers } from '../callers.js'
import { refuseForeign } from '../credential.js'
import { clearSession, setSession } from '../session-cookie.js'

/** Exchanges a key for a session, so that the page need not keep the key. */
export function sessionRoutes(app: FastifyInstance, callers: Callers, traceUrl: string | undefined): void {
  const whoami = (request: FastifyRequest) => ({ ...whose(request), trace_url: traceUrl ?? null })

  app.post<{ Body: SessionBody }>(
    '/session',
    {
      schema: {
        summary: 'Exchange a key for a session, which comes back as a cookie',
        body: sessionBody,
        response: { 201: sessionAnswer },
      },
    },
    async (request, reply) => {
      // Otherwise another site could log its visitors into a session of the attacker's.
      refuseForeign(request, { kind: 'log in' })
      const known = await callers.find({ kind: 'key', secret: request.body.key }, request.ip)
      if (!known) throw new HoldfastError('unauthorized', 'the key is not valid', { field: 'key' })
      request.known = known
      spend(request, 1)
      const { token, endsAt } = await callers.openSession(known.caller, actor(request, undefined))
      request.known = { ...known, endsAt }
      setSession(request, reply, token)
      return reply.status(201).header('cache-control', 'no-store').send(whoami(request))
    },
  )

  app.get(
    '/session',
    { schema: { summary: 'Whose key or session this is', response: { 200: sessionAnswer } } },
    async (request, reply) => reply.header('cache-control', 'no-store').send(whoami(request)),
  )

  app.delete('/session', { schema: { summary: 'End the session' } }, async (request, reply) => {
    const credential = request.known?.credential
    if (credential?.kind === 'session') await callers.endSession(credential.secret, actor(request, undefined))
    clearSession(request, reply)
    return reply.status(204).send()
  })
}

function whose(request: FastifyRequest) {
  const { service, permissions, types } = callerOf(request)
  return {
    service,
    permissions: [...permissions].sort(),
    types: types === undefined ? null : [...types],
    ends_at: request.known?.endsAt ?? null,
  }
}
