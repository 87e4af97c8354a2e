import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { sleep } from '../clock.js'
import type { Holdfast } from '../holdfast.js'
import { makeApp } from './app.js'
import { closeWithinMs } from './closing.js'
import { checkMountOptions, type MountOptions } from './options.js'
import { withoutPrefix } from './prefix.js'

/** Answers requests. Express, Connect and Node's own server take it as it is. */
export interface Handler {
  (request: IncomingMessage, response: ServerResponse): void
  /** Ends waits and streams, gives other requests under way two seconds, and closes its connections. Call it before your server closes. */
  close(): Promise<void>
}

/**
 * The HTTP API and the dashboard as a function of request and response, to be mounted in a server that is there already. Express takes
 * away the path it was mounted under; where nobody does, say it in `prefix`. Mount it before whatever reads bodies.
 * @example
 * import { createServer } from 'node:http'
 * import { createHandler } from 'holdfast/server'
 *
 * const jobs = createHandler(holdfast, { prefix: '/holdfast' })
 * const server = createServer((request, response) => {
 *   if (request.url?.startsWith('/holdfast')) jobs(request, response)
 *   else response.end('the shop')
 * })
 * server.listen(8080, '127.0.0.1')
 */
export function createHandler(holdfast: Holdfast, options: MountOptions = {}): Handler {
  checkMountOptions(options)
  const { prefix = '' } = options
  const app = makeApp(holdfast, options, {}, { cutOff: false })
  const underWay = new UnderWay()
  // The last of these hooks: waits and streams have been told to end by then.
  app.addHook('preClose', () => underWay.none(closeWithinMs))
  const ready = Promise.resolve(app.ready())
  const handle = (request: IncomingMessage & { originalUrl?: string }, response: ServerResponse): void => {
    underWay.add(response)
    request.originalUrl ??= request.url as string
    request.url = withoutPrefix(request.url ?? '/', prefix)
    ready.then(
      () => app.routing(request, response),
      (error) => response.destroy(error),
    )
  }
  return Object.assign(handle, { close: async () => app.close() })
}

/**
 * The same as a plugin of Fastify, under the prefix it is registered with. Hooks of your application run before it; headers they set are
 * kept, and the body is left to Holdfast, which reads it exactly.
 * @example
 * import { fastify } from 'fastify'
 * import { createPlugin } from 'holdfast/server'
 *
 * const app = fastify()
 * await app.register(createPlugin(holdfast, {}), { prefix: '/holdfast' })
 */
export function createPlugin(holdfast: Holdfast, options: MountOptions = {}): (app: FastifyInstance) => Promise<void> {
  checkMountOptions(options)
  return async (app) => {
    const handler = createHandler(holdfast, { ...options, prefix: app.prefix })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _body, done) => done(null))
    app.addHook('preClose', () => handler.close())
    for (const path of ['/', '/*']) {
      app.all(path, (request, reply) => {
        reply.hijack()
        for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value)
        handler(request.raw, reply.raw)
      })
    }
  }
}

/** The answers that are not complete yet. */
class UnderWay {
  readonly #responses = new Set<ServerResponse>()
  #whenNone: (() => void) | undefined

  add(response: ServerResponse): void {
    this.#responses.add(response)
    response.once('close', () => {
      this.#responses.delete(response)
      if (this.#responses.size === 0) this.#whenNone?.()
    })
  }

  async none(withinMs: number): Promise<void> {
    if (this.#responses.size === 0) return
    const none = new Promise<void>((resolve) => {
      this.#whenNone = resolve
    })
    await Promise.race([none, sleep(withinMs, { unref: true })])
  }
}
