import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * Stands between a client and Postgres and can break a connection at the worst moment: after the server has done what it
 * was asked and before the client hears of it.
 */
export interface CuttingProxy {
  readonly url: string
  /** How many connections have been cut. */
  readonly cuts: number
  /** The next answer to a message with this text in it is swallowed, and its connection is gone. */
  cutAnswerTo(text: string): void
  /** The next message with this text reaches the server, but its sender is cut off at once and the server is not told. */
  cutSenderOf(text: string): void
  close(): Promise<void>
}

export async function startCuttingProxy(targetUrl: string): Promise<CuttingProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let armed: { text: string; at: 'answer' | 'message' } | undefined
  let cuts = 0

  const server = createServer((client) => {
    const postgres = connect(Number(target.port), target.hostname)
    for (const socket of [client, postgres]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    let doomed = false
    let tail = ''
    client.on('data', (data) => {
      postgres.write(data)
      // A text may be spread over two pieces.
      tail = (tail + data.toString('latin1')).slice(-data.length - 200)
      if (!armed || !tail.includes(armed.text)) return
      if (armed.at === 'answer') doomed = true
      else cut(client)
      armed = undefined
    })
    postgres.on('data', (data) => {
      if (!doomed) return void client.write(data)
      cut(client)
      postgres.destroy()
    })
    client.on('end', () => postgres.end())
    postgres.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function cut(socket: Socket): void {
    cuts += 1
    socket.removeAllListeners('end')
    socket.destroy()
  }

  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    get cuts() {
      return cuts
    },
    cutAnswerTo(text) {
      armed = { text, at: 'answer' }
    },
    cutSenderOf(text) {
      armed = { text, at: 'message' }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
