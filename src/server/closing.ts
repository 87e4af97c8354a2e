import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Long enough for the answers that are on their way; the next server is not to wait longer for the port. */
const closeWithinMs = 2_000

/**
 * Lets the server close within seconds, whatever those connected to it do. What is answered from then on ends its connection, which
 * would otherwise be kept for a minute; who says nothing, or does not read, is cut off. Comes before the first route. Answers a
 * signal that fires when the closing begins: whatever waits or streams ends on it.
 */
export function closeInTime(app: FastifyInstance): AbortSignal {
  const closing = new AbortController()
  // Kept here, as the HTTP server does not know those that have not shaken hands, nor those of a second address.
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
    if (closing.signal.aborted) reply.header('connection', 'close')
  })
  app.addHook('preClose', async () => {
    closing.abort()
    const cutOff = () => {
      for (const socket of connected) socket.destroy()
    }
    setTimeout(cutOff, closeWithinMs).unref()
  })
  return closing.signal
}
