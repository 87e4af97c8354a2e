import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { allows, allowsType, type Caller } from '../access/caller.js'
import { HoldfastError } from '../errors.js'
import type { Actor } from '../job/actor.js'
import type { Callers, KnownCaller } from './callers.js'
import { credentialOf, refuseForeign } from './credential.js'
import { type Rule, ruleFor } from './rules.js'
import { clearSession } from './session-cookie.js'
import type { ClientCertificates } from './tls.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    rule?: Rule
  }
  interface FastifyRequest {
    known: KnownCaller | undefined
  }
}

/** Puts its rule onto every route, and holds every request to it before its body is read. Comes before the first route. */
export function authorize(app: FastifyInstance, callers: Callers, certificates: ClientCertificates): void {
  app.decorateRequest('known')
  app.addHook('onRoute', (route) => {
    const [rule] = [route.method].flat().map((method) => ruleFor(method, route.url))
    route.config = { ...route.config, ...(rule && { rule }) }
  })
  app.addHook('onRequest', async (request, reply) => {
    // A path that does not exist has no rule; only those who have a key are told so.
    const { rule = 'any key' } = request.routeOptions.config
    if (rule === 'open') return
    request.known = await identify(request, reply, callers, certificates)
    spend(request, 1)
    if (rule !== 'any key' && !allows(callerOf(request), rule)) {
      throw new HoldfastError('forbidden', `this needs ${rule}, which the key of ${callerOf(request).service} does not allow`)
    }
  })
}

const refusals = {
  key: 'the key is not the right one',
  session: 'the session has ended; log in again',
  certificate: 'the certificate stands for no service here, and no key was sent',
}

async function identify(
  request: FastifyRequest,
  reply: FastifyReply,
  callers: Callers,
  certificates: ClientCertificates,
): Promise<KnownCaller> {
  const given = credentialOf(request, certificates)
  if (given) refuseForeign(request, given)
  const known = given && (await callers.find(given, request.ip))
  if (known) return known
  reply.header('www-authenticate', 'Bearer')
  if (given?.kind === 'session') clearSession(request, reply)
  throw new HoldfastError('unauthorized', given ? refusals[given.kind] : 'no key was sent; send Authorization: Bearer <key>')
}

/** Takes so many requests from what the key has left this second. */
export function spend(request: FastifyRequest, count: number): void {
  const waitMs = request.known?.bucket?.take(count) ?? 0
  if (waitMs === 0) return
  const { service, rateLimit } = callerOf(request)
  throw new HoldfastError('rate_limited', `the key of ${service} has used up its ${rateLimit} requests a second`, {
    retryAfterMs: waitMs,
  })
}

/** Who sent it. Every route but the open ones has one. */
export function callerOf(request: FastifyRequest): Caller {
  return (request.known as KnownCaller).caller
}

/** Who acts, for history and the audit log: always the service of the key, whatever the request says. */
export function actor(request: FastifyRequest, why: string | undefined): Actor {
  return { by: callerOf(request).service, from: request.ip, ...(why === undefined ? {} : { why }) }
}

/** What Holdfast sends itself, such as alerts, nobody sends, edits or takes over HTTP, whatever the key. */
export function refuseOwnTypes(types: readonly string[], field = 'type'): void {
  const own = types.find((type) => type.startsWith('holdfast:'))
  if (own === undefined) return
  const problem = `"${own.slice(0, 200)}" is a type of Holdfast's own, which nobody enqueues, edits or works on over HTTP`
  throw new HoldfastError('forbidden', problem, { field })
}

export function refuseOtherTypes(request: FastifyRequest, types: readonly string[], field = 'type'): void {
  refuseOwnTypes(types, field)
  const caller = callerOf(request)
  const other = types.find((type) => !allowsType(caller, type))
  if (other === undefined) return
  const shown = other.slice(0, 200)
  throw new HoldfastError('forbidden', `the key of ${caller.service} is not for jobs of type "${shown}"`, { field })
}
