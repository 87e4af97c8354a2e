import type { FastifyRequest } from 'fastify'
import { HoldfastError } from '../errors.js'
import { sessionOf } from './session-cookie.js'

/** What a request came in with. A key is sent on purpose; the cookie of a session comes along by itself, wherever a request began. */
export interface Credential {
  kind: 'key' | 'session'
  secret: string
}

/** A key goes before a session: whoever sends one means it. */
export function credentialOf(request: FastifyRequest): Credential | undefined {
  const { authorization } = request.headers
  const key = /^Bearer +(\S{1,500}) *$/i.exec(authorization ?? '')?.[1]
  if (key !== undefined) return { kind: 'key', secret: key }
  const token = authorization === undefined ? sessionOf(request) : undefined
  return token === undefined ? undefined : { kind: 'session', secret: token }
}

/**
 * What another site makes a browser send is refused, if it could change something. SameSite keeps the cookie out of most of it;
 * but another port of the same host is the same site, and only the origin tells it apart.
 */
export function refuseForeign(request: FastifyRequest, { kind }: { kind: Credential['kind'] | 'log in' }): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  const here = comesFromHere(request)
  if (here || (here === undefined && kind === 'log in')) return
  const problem =
    here === undefined
      ? 'a request by session has to say where it comes from, as browsers do; programs send Authorization: Bearer <key>'
      : 'the request comes from another site'
  throw new HoldfastError('forbidden', problem)
}

/** Undefined: it does not say, as no browser made it. Scripts cannot set either header. */
function comesFromHere({ headers }: FastifyRequest): boolean | undefined {
  // First, because it stays true behind a proxy that gives the server another name.
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  if (origin === undefined) return undefined
  return URL.canParse(origin) && new URL(origin).host === host
}
