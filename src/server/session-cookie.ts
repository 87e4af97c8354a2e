import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionMs } from '../access/sessions.js'

/** What the session's cookie holds, if there is one that can be. */
export function sessionOf(request: FastifyRequest): string | undefined {
  const name = nameFor(request)
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=')
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value
  }
  return undefined
}

/** No script can read it, no other site makes a browser send it, and over TLS it never leaves that. */
export function setSession(request: FastifyRequest, reply: FastifyReply, token: string): void {
  write(request, reply, token, sessionMs / 1_000)
}

export function clearSession(request: FastifyRequest, reply: FastifyReply): void {
  write(request, reply, '', 0)
}

function write(request: FastifyRequest, reply: FastifyReply, token: string, seconds: number): void {
  const secure = isSecure(request) ? '; Secure' : ''
  reply.header('set-cookie', `${nameFor(request)}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`)
}

/** Browsers keep one set of cookies for all ports of a host; with the port in its name, two servers do not end each other's. */
function nameFor(request: FastifyRequest): string {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1]
  return `${isSecure(request) ? '__Host-' : ''}holdfast${port === undefined ? '' : `-${port}`}`
}

/** Whoever lies about the proxy in front only makes the own cookie stricter. */
function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https'
}
