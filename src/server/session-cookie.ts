import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionMs } from '../access/sessions.js'

/** The token in the session's cookie, if there is a well-formed one. */
export function sessionOf(request: FastifyRequest): string | undefined {
  const name = nameFor(request)
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, value] = pair.trim().split('=')
    if (key === name && value !== undefined && /^[\w-]{43}$/.test(value)) return value
  }
  return undefined
}

/** No script can read it, no other site can make a browser send it, and over TLS it is sent only over TLS. */
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

/** Browsers share cookies between all ports of a host; with the port in the name, two servers do not overwrite each other's. */
function nameFor(request: FastifyRequest): string {
  const port = /:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1]
  return `${isSecure(request) ? '__Host-' : ''}holdfast${port === undefined ? '' : `-${port}`}`
}

/** A client that forges the header of a proxy only makes its own cookie stricter. */
function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https' || request.headers['x-forwarded-proto'] === 'https'
}
