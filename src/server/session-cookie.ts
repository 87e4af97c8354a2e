import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionMs } from '../access/sessions.js'
import { pathBefore } from './prefix.js'

const signInSeconds = 600

/** The token in the session's cookie, if there is a well-formed one. */
export function sessionOf(request: FastifyRequest): string | undefined {
  const value = cookieOf(request, nameFor(request))
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}

/** No script can read it, no other site can make a browser send it, and over TLS it is sent only over TLS. */
export function setSession(request: FastifyRequest, reply: FastifyReply, token: string): void {
  write(request, reply, nameFor(request), token, sessionMs / 1_000, 'Strict')
}

export function clearSession(request: FastifyRequest, reply: FastifyReply): void {
  write(request, reply, nameFor(request), '', 0, 'Strict')
}

/** What a browser keeps while its person signs in elsewhere. It comes back from another site, so that site may make the browser send it. */
export function setPending(request: FastifyRequest, reply: FastifyReply, pending: string): void {
  write(request, reply, `${nameFor(request)}-sign-in`, pending, signInSeconds, 'Lax')
}

export function clearPending(request: FastifyRequest, reply: FastifyReply): void {
  write(request, reply, `${nameFor(request)}-sign-in`, '', 0, 'Lax')
}

export function pendingOf(request: FastifyRequest): string | undefined {
  return cookieOf(request, `${nameFor(request)}-sign-in`)
}

function cookieOf(request: FastifyRequest, name: string): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=')
    if (key === name && value) return value
  }
  return undefined
}

function write(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  value: string,
  seconds: number,
  sameSite: 'Strict' | 'Lax',
): void {
  const secure = isSecure(request) ? '; Secure' : ''
  reply.header('set-cookie', `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${secure}`)
}

/**
 * Browsers share cookies between all ports of a host and, as `__Host-` wants it, all paths; with both in the name, two servers do not
 * overwrite each other's.
 */
function nameFor(request: FastifyRequest): string {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1]
  const place = `${port === undefined ? '' : `-${port}`}${pathBefore(request.raw).replace(/[^\w~-]+/g, '.')}`
  return `${isSecure(request) ? '__Host-' : ''}holdfast${place}`
}

/** A client that forges the header of a proxy only makes its own cookie stricter. */
function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https'
}
