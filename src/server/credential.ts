import type { FastifyRequest } from 'fastify'
import type { CertificateNames } from '../access/certificate.js'
import { HoldfastError } from '../errors.js'
import { sessionOf } from './session-cookie.js'
import type { ClientCertificates } from './tls.js'

/**
 * What identifies a request. A client sends a key on purpose; a browser sends the cookie of a session and its certificate by itself,
 * also with requests that another site caused.
 */
export type Credential =
  | { kind: 'key'; secret: string }
  | { kind: 'session'; secret: string }
  | ({ kind: 'certificate' } & CertificateNames)

/** A key comes first, because it is sent on purpose; then a session, because somebody logged in; then a certificate. */
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
 * Refuses requests that another site made a browser send, if they could change something. SameSite keeps the cookie out of most of
 * them; but another port of the same host is the same site, and only the origin distinguishes it.
 */
export function refuseForeign(request: FastifyRequest, { kind }: { kind: Credential['kind'] | 'log in' }): void {
  if (kind === 'key' || request.method === 'GET' || request.method === 'HEAD') return
  const here = comesFromHere(request)
  // Programs do not send these headers; only sessions are used by browsers alone.
  if (here || (here === undefined && kind !== 'session')) return
  const problem =
    here === undefined
      ? 'a request by session has to say where it comes from, as browsers do; programs send Authorization: Bearer <key>'
      : 'the request comes from another site'
  throw new HoldfastError('forbidden', problem)
}

/** Undefined without either header: the request is not from a browser. Scripts cannot set them. */
function comesFromHere({ headers }: FastifyRequest): boolean | undefined {
  // First, because it is right even behind a proxy that gives the server another name.
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  if (origin === undefined) return undefined
  return URL.canParse(origin) && new URL(origin).host === host
}
