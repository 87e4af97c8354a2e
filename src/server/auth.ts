import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { HoldfastError } from '../errors.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered without a key. */
    open?: true
  }
}

/** Refuses every request that does not bring the key, unless its route is open: a route that says nothing is closed. */
export function requireKey(app: FastifyInstance, adminKey: string): void {
  if (adminKey.length < shortestKey) {
    throw new HoldfastError('invalid_configuration', `the admin key must have at least ${shortestKey} characters`, {
      field: 'adminKey',
    })
  }
  const wanted = digest(adminKey)
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.open) return
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
    // Digests are of one length, so the comparison takes the same time however much of the key was right.
    if (given !== undefined && timingSafeEqual(digest(given), wanted)) return
    reply.header('www-authenticate', 'Bearer')
    const problem = given === undefined ? 'no key was sent; send Authorization: Bearer <key>' : 'the key is not the right one'
    throw new HoldfastError('unauthorized', problem)
  })
}

export const shortestKey = 20

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
