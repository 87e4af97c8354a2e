import type { FastifyRequest } from 'fastify'
import type { CertificateNames } from '../access/certificate.js'
import { HoldfastError } from '../errors.js'
import { sessionOf } from './session-cookie.js'
import type { ClientCertificates } from './tls.js'

/**
 * What a request came in with. A key is sent on purpose; the cookie of a session and the certificate of a browser come along by
 * themselves, wherever a request began.
 */
export type Credential =
  | { kind: 'key'; secret: string }
  | { kind: 'session'; secret: string }
  | ({ kind: 'certificate' } & CertificateNames)

/** What was sent on purpose goes before what came by itself, and whoever logged in meant that. */
export function credentialOf(request: FastifyRequest, certificates: ClientCertificates): Credential | undefined {
  const { authorization } = request.headers
  const key = /^Bearer +(\S{1,500}) *$/i.exec(authorization ?? '')?.[1]
  if (key !== undefined) return { kind: 'key', secret: key }
  if (authorization !== undefined) return undefined
  const token = sessionOf(request)
  if (token !== undefined) return { kind: 'session', secret: token }
  const names = certificates.of(request)
  return names && { kind: 'certificate', ...names }
}

/**
 * What another site makes a browser send is refused, if it could change something. SameSite keeps the cookie out of most of it;
 * but another port of the same host is the same site, and only the origin tells it apart.
 */
export function refuseForeign(request: FastifyRequest, { kind }: { kind: Credential['kind'] | 'log in' }): void {
  if (kind === 'key' || request.method === 'GET' || request.method === 'HEAD') return
  const here = comesFromHere(request)
  // Programs do not say; only a session is for browsers alone.
  if (here || (here === undefined && kind !== 'session')) return
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
