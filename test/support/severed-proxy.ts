import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A stretch of network between a program and Postgres that can be cut and frozen. Closed when the test ends. */
export interface TcpProxy {
  /** The database's address, by way of the proxy. */
  readonly url: string
  /** Cuts every connection there is. New ones are let through. */
  cut(): void
  /** Lets nothing through in either direction, and says nothing about it. New connections hang too. */
  freeze(): void
  thaw(): void
  /**
   * The next statement that carries this text reaches the server and is committed; its answer is thrown away and the
   * connection cut. Resolves when that has happened.
   */
  loseAnswerTo(text: string): Promise<void>
}

/** "Ready for the next statement, no transaction open": the last thing a server says about a statement it has committed. */
const idle = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

interface Link {
  near: Socket
  far: Socket
  /** Set while the answer to a statement is being thrown away. */
  lost?: () => void
}

export async function openTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl)
  const links = new Set<Link>()
  let frozen = false
  let trap: { text: string; sprung: () => void } | undefined

  const server = createServer((near) => {
    const far = connect(Number(target.port || 5432), target.hostname)
    const link: Link = { near, far }
    links.add(link)
    const end = () => {
      links.delete(link)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
    near.on('data', (bytes) => {
      if (trap && bytes.includes(trap.text)) {
        link.lost = trap.sprung
        trap = undefined
      }
      far.write(bytes)
    })
    far.on('data', (bytes) => {
      if (!link.lost) return void near.write(bytes)
      if (!bytes.subarray(-idle.length).equals(idle)) return
      link.lost()
      end()
    })
    if (frozen) pauseLink(link)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const { near, far } of links) [near.destroy(), far.destroy()]
  }
  onTestFinished(() => {
    cut()
    server.close()
  })

  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    cut,
    freeze() {
      frozen = true
      for (const link of links) pauseLink(link)
    },
    thaw() {
      frozen = false
      for (const { near, far } of links) [near.resume(), far.resume()]
    },
    loseAnswerTo: (text) =>
      new Promise((sprung) => {
        trap = { text, sprung }
      }),
  }
}

function pauseLink({ near, far }: Link): void {
  near.pause()
  far.pause()
}
