import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Long enough for requests under way; the next server should not wait longer for the port. */
export const closeWithinMs = 2_000

/**
 * Lets the server close within seconds, whatever its clients do. Answers from then on close their connection, which would otherwise be
 * kept for a minute; clients that send nothing, or do not read, are disconnected, unless the connections are those of another server
 * (`cutOff`). Answers after `stopping` close their connection too, so that a load balancer opens the next one elsewhere. Register it before
 * the first route. Returns a signal that fires when the closing begins and ends all waits and streams.
 */
export function closeInTime(
  app: FastifyInstance,
  { cutOff, stopping }: { cutOff: boolean; stopping: AbortSignal | undefined },
): AbortSignal {
  const closing = new AbortController()
  // Kept here, because the HTTP server does not list sockets before the TLS handshake, nor those of a second address.
  const connected = new Set<Socket>()
  const keep = (socket: Socket) => {
    // A request that was injected has no socket.
    if (connected.has(socket) || !(socket instanceof Socket)) return
    connected.add(socket)
    socket.once('close', () => connected.delete(socket))
  }
  app.server.on('connection', keep)
  app.addHook('onRequest', async (request) => keep(request.raw.socket))
  app.addHook('onSend', async (_request, reply) => {
    if (closing.signal.aborted || stopping?.aborted) reply.header('connection', 'close')
  })
  app.addHook('preClose', async () => {
    closing.abort()
    if (!cutOff) return
    const disconnect = () => {
      for (const socket of connected) socket.destroy()
    }
    setTimeout(disconnect, closeWithinMs).unref()
  })
  return closing.signal
}
