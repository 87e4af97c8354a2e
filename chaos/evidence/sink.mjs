// The outside world that handlers write to: it takes one effect per job, and none from an attempt that was given up.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * Remembers the largest fence it has seen of each job, as the documentation tells everybody to do. It notes its answers
 * itself: a handler may be killed before it could.
 */
export class EffectSink {
  #newest = new Map()
  #applied = new Set()
  #note

  constructor(note = () => {}) {
    this.#note = note
  }

  /** An attempt says that it begins. */
  open(job, fence) {
    const seen = this.#newest.get(job) ?? 0n
    if (BigInt(fence) > seen) this.#newest.set(job, BigInt(fence))
    return BigInt(fence) < seen ? 'stale' : 'open'
  }

  /** An attempt writes its effect. */
  write(job, fence, attempt) {
    const answer = this.open(job, fence) === 'stale' ? 'stale' : this.#applied.has(job) ? 'already' : 'accepted'
    if (answer === 'accepted') this.#applied.add(job)
    this.#note({ kind: 'effect', job, attempt, fence: String(fence), answer })
    return answer
  }
}

/** The same behind a port of this machine, for handlers in processes of their own. One line asks, one line answers. */
export async function serveSink(sink) {
  const sockets = new Set()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    const lines = createInterface({ input: socket }).on('error', () => {})
    lines.on('line', (line) => {
      const { id, verb, job, fence, attempt } = JSON.parse(line)
      socket.write(`${JSON.stringify({ id, answer: sink[verb](job, fence, attempt) })}\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: server.address().port,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A sink as a handler in another process sees it. */
export function reachSink(port) {
  const socket = connect(port, '127.0.0.1')
  const waiting = new Map()
  let asked = 0
  const lines = createInterface({ input: socket }).on('error', () => {})
  lines.on('line', (line) => {
    const { id, answer } = JSON.parse(line)
    waiting.get(id)?.(answer)
    waiting.delete(id)
  })
  // A sink that is gone is the end of the bench; nothing is left to be told.
  socket.on('error', () => {})
  const ask = (verb) => (job, fence, attempt) =>
    new Promise((resolve) => {
      waiting.set(++asked, resolve)
      socket.write(`${JSON.stringify({ id: asked, verb, job, fence: String(fence), attempt })}\n`)
    })
  return { open: ask('open'), write: ask('write'), close: () => socket.destroy() }
}
