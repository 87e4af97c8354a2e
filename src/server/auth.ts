import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { allows, allowsType, type Caller } from '../access/caller.js'
import { HoldfastError } from '../errors.js'
import type { Actor } from '../job/actor.js'
import { isOwnType } from '../job/own-types.js'
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

/** Gives every route its rule, and checks every request against it before reading its body. Register it before the first route. */
export function authorize(app: FastifyInstance, callers: Callers, certificates: ClientCertificates): void {
  app.decorateRequest('known')
  app.addHook('onRoute', (route) => {
    const [rule] = [route.method].flat().map((method) => ruleFor(method, route.url))
    route.config = { ...route.config, ...(rule && { rule }) }
  })
  app.addHook('onRequest', async (request, reply) => {
    // A path that does not exist has no rule; only callers with a key learn that.
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
  key: 'the key is not valid',
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

/** Takes that many requests from what the service has left this second. */
export function spend(request: FastifyRequest, count: number): void {
  const waitMs = request.known?.bucket?.take(count) ?? 0
  if (waitMs === 0) return
  const { service, rateLimit } = callerOf(request)
  throw new HoldfastError('rate_limited', `the key of ${service} has used up its ${rateLimit} requests a second`, {
    retryAfterMs: waitMs,
  })
}

/** The caller of a request. Every route but the open ones has one. */
export function callerOf(request: FastifyRequest): Caller {
  return (request.known as KnownCaller).caller
}

/** Who acts, for history and the audit log: always the service of the key, whatever the request says. */
export function actor(request: FastifyRequest, why: string | undefined): Actor {
  return { by: callerOf(request).service, from: request.ip, ...(why === undefined ? {} : { why }) }
}

/** Refuses to enqueue, edit or claim jobs of Holdfast's own types, such as alerts, over HTTP, whatever the key. */
export function refuseOwnTypes(types: readonly string[], field = 'type'): void {
  const own = types.find(isOwnType)
  if (own === undefined) return
  const problem = `"${own.slice(0, 200)}" is one of Holdfast's own types, which cannot be enqueued, edited or run over HTTP`
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
