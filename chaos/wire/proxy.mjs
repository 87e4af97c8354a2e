// A way to a database on which single messages can be lost, and the whole of it broken as networks break.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { Link } from './link.mjs'

/**
 * @param {number} targetPort of the server on this machine
 * Faults at single messages are armed by a trap (trap.mjs); the rest falls on all connections at once.
 */
export async function startProxy(targetPort) {
  const links = new Set()
  const proxy = { target: targetPort, trap: undefined, state: 'open' }

  const accept = (near) => {
    const far = connect({ port: proxy.target, host: '127.0.0.1', allowHalfOpen: true })
    const link = new Link(
      near,
      far,
      () => proxy.trap,
      () => links.delete(link),
    )
    links.add(link)
    if (proxy.state === 'silent') link.silence()
    if (proxy.state === 'frozen') link.freeze()
  }
  const listen = async (port) => {
    const server = createServer({ allowHalfOpen: true }, accept).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let listener = await listen(0)
  const { port } = listener.address()

  return {
    port,
    /** The connection string of the same database by this way. */
    through(connectionString) {
      const url = new URL(connectionString)
      url.hostname = '127.0.0.1'
      url.port = String(port)
      return url.href
    },
    get open() {
      return links.size
    },
    /** From now on `trap` sees every message and may break the connection at one. */
    arm(trap) {
      proxy.trap = trap
    },
    /** Sends new connections elsewhere. */
    aim(elsewhere) {
      proxy.target = elsewhere
    },
    /** Closes what is open, as a crashed machine's successor would. */
    cut() {
      for (const link of [...links]) link.cut()
    },
    /** Swallows everything without a word, on new connections too. */
    silence() {
      proxy.state = 'silent'
      for (const link of links) link.silence()
    },
    /** Holds everything back, to be delivered later. */
    freeze() {
      proxy.state = 'frozen'
      for (const link of links) link.freeze()
    },
    /** New connections are refused. */
    refuse() {
      listener.close()
    },
    /** New connections work and frozen ones go on. What was silenced stays lost, as after a healed partition. */
    async heal() {
      proxy.state = 'open'
      for (const link of links) link.thaw()
      if (!listener.listening) listener = await listen(port)
    },
    /** The server learns of clients that have gone unheard, as its keepalive would tell it in time. */
    endLost() {
      for (const link of [...links]) if (link.lost) link.cut()
    },
    async close() {
      proxy.trap = undefined
      for (const link of [...links]) link.cut()
      if (!listener.listening) return
      listener.close()
      await once(listener, 'close')
    },
  }
}
