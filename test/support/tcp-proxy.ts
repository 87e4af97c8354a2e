import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** One connection through the proxy, known by what it said first: a Postgres client gives its application_name there. */
interface Link {
  client: Socket
  server: Socket
  opening: string
  /** Bytes vanish without a word in both directions, for good: what healed networks leave behind of old connections. */
  lost: boolean
  /** What the server says vanishes. */
  answersLost: boolean
}

/** A way to a database that can be broken as networks break. Gone when the test ends. */
export interface TcpProxy {
  /** The connection string of the same database by this way. */
  through(connectionString: string): string
  /** How often somebody connected, also where nobody answered behind the proxy. Refused tries are not seen. */
  readonly attempts: number
  /** How many connections are open right now, lost ones too. */
  readonly open: number
  /** Sends new connections elsewhere. */
  aim(port: number): void
  /** New connections are refused; what is open stays. */
  refuse(): void
  /** Closes what is open, as a crashed machine's successor would. */
  cut(): void
  /** Swallows everything, from now on and on new connections too, without closing anything. */
  silence(which?: (opening: string) => boolean): void
  /** Lets statements that contain this text through and loses what the server says from then on. Undefined: no more. */
  loseAnswersTo(text: string | undefined): void
  /** Holds everything back, to be delivered later. */
  freeze(): void
  /** New connections work again and frozen ones go on; silenced ones stay lost. */
  heal(): Promise<void>
}

export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const links = new Set<Link>()
  let target = targetPort
  let state: 'open' | 'silent' | 'frozen' = 'open'
  let attempts = 0
  let unanswered: string | undefined

  const accept = (client: Socket): void => {
    attempts += 1
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
    const link: Link = { client, server, opening: '', lost: state === 'silent', answersLost: false }
    links.add(link)
    const end = (): void => {
      // On a lost connection nobody hears that the other one has gone.
      if (link.lost) return
      links.delete(link)
      client.destroy()
      server.destroy()
    }
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.setNoDelay(true)
      if (state === 'frozen') from.pause()
      from.on('data', (bytes: Buffer) => {
        if (from === client && link.opening === '') link.opening = bytes.toString('latin1')
        if (from === client && unanswered !== undefined && bytes.includes(unanswered)) link.answersLost = true
        if (!link.lost && !(from === server && link.answersLost)) to.write(bytes)
      })
      from.on('error', () => {})
      from.on('end', end)
      from.on('close', end)
    }
  }

  let listener: Server = createServer({ allowHalfOpen: true }, accept).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  const cut = (): void => {
    for (const { client, server } of [...links]) {
      client.destroy()
      server.destroy()
    }
    links.clear()
  }
  onTestFinished(() => {
    listener.close()
    cut()
  })
  return {
    through(connectionString) {
      const url = new URL(connectionString)
      url.hostname = '127.0.0.1'
      url.port = String(port)
      return url.href
    },
    get attempts() {
      return attempts
    },
    get open() {
      return links.size
    },
    aim(elsewhere) {
      target = elsewhere
    },
    refuse: () => void listener.close(),
    cut,
    silence(which) {
      if (!which) state = 'silent'
      for (const link of links) if (!which || which(link.opening)) link.lost = true
    },
    loseAnswersTo(text) {
      unanswered = text
    },
    freeze() {
      state = 'frozen'
      for (const { client, server } of links) for (const socket of [client, server]) socket.pause()
    },
    async heal() {
      state = 'open'
      for (const { client, server } of links) for (const socket of [client, server]) socket.resume()
      if (!listener.listening) {
        listener = createServer({ allowHalfOpen: true }, accept).listen(port, '127.0.0.1')
        await once(listener, 'listening')
      }
    },
  }
}
