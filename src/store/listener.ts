import pg from 'pg'
import type { Background } from '../background/background.js'
import { sleep } from '../clock.js'
import { cutOff } from './connections.js'
import type { Database } from './database.js'
import { LentConnection } from './lent-connection.js'
import { channelName, endedChannel, quotedChannel } from './schema-name.js'

const silentForMs = 10_000
const answerWithinMs = 5_000
const reconnectMs = { first: 200, most: 5_000 }
const goodbyeMs = 500
const mostBorrowed = 20
/** A pooler that swallows notifications will go on doing so, but it may be replaced, and the probe may have failed by chance: tried again after this. */
const afterSwallowedMs = 600_000
/**
 * How long the server waits for this process to read what it sends (tcp_user_timeout). A frozen process reads nothing, and its backend
 * would wait in the middle of sending for as long as that lasts, with a snapshot that keeps every vacuum of the server from cleaning up.
 * On a Unix socket, and where the server's system does not support it, it has no effect.
 */
const unreadForMs = 30_000

/** Why no notification reaches a listener, each as the beginning of a sentence. */
const reasons = {
  pooler: 'a pooler in transaction mode swallows the notifications',
  elsewhere: 'the address of listenUrl does not hear what is sent in this database',
  noConnection: (why: string) => `the address of listenUrl cannot be reached (${why})`,
}
/** What helps against all of them. */
export const waysToBeNotified = 'give listenUrl an address that goes past the pooler, or wakeUrl a Redis, or listen: false'

/** What a worker says that no notification reaches. */
export function pollsInstead(why: string): string {
  return `${why}, so this worker polls five times a second: ${waysToBeNotified}`
}

/** What notify_idle says to a worker of a large fleet: there is a job for one of the few that it notified. */
export const personalNotification = 'jobs'

export interface ListenerEvents {
  /** A producer sent a notification, or may have sent one while the connection was down. */
  notified(): void
  /**
   * The own channel was notified, or may have been: a job of this worker was cancelled, a producer notified it and few others (`personalNotification`),
   * or these jobs, with commas between them, have ended.
   */
  ordered(ids: string): void
  /** The connection is lost; until the next one no notification arrives. */
  disconnected(): void
  /** Why no notification can arrive although the database answers; undefined: they arrive again. Comes once for each. */
  unreachable?(why: string | undefined): void
}

export interface ListenerOptions {
  unreadForMs?: number
}

/**
 * Receives the notifications of some lanes, on a connection that it opens again whenever it breaks, and lends to others in between. Where
 * nobody used it for ten seconds it sends a statement, because a half-open connection is silent like an idle one. While somebody has it,
 * notifications wait until their statement has ended. A lost connection costs latency, never a job: workers poll too.
 */
export class Listener implements Background {
  readonly name = 'listener'
  readonly lent = new LentConnection()
  readonly #database: Pick<Database, 'clientConfig' | 'listenConfig' | 'schema'>
  readonly #schema: string
  #lanes: readonly string[] = []
  readonly #own: string
  readonly #events: ListenerEvents
  readonly #stop = new AbortController()
  #listening = false
  #running: Promise<void> | undefined
  #broken: (() => void) | undefined
  readonly #unreadForMs: number
  #unreachable: string | undefined

  /** `own`: the worker that is also notified alone, when one of its jobs is cancelled; `waiters`: those who wait for jobs to end. */
  constructor(
    database: Pick<Database, 'clientConfig' | 'listenConfig' | 'schema'>,
    own: number | 'remote' | 'waiters',
    events: ListenerEvents,
    options: ListenerOptions = {},
  ) {
    this.#database = database
    this.#schema = database.schema
    this.#own = own === 'waiters' ? endedChannel(database.schema) : channelName(database.schema, 'worker', own)
    this.#events = events
    this.#unreadForMs = options.unreadForMs ?? unreadForMs
  }

  /** Whether notifications can arrive right now. */
  get listening(): boolean {
    return this.#listening
  }

  /** Why no notification can arrive although the database answers. */
  get unreachable(): string | undefined {
    return this.#unreachable
  }

  /** Listens to these lanes from now on, and at every new connection. A lane that is left out stays subscribed until then. */
  listenTo(lanes: readonly number[]): void {
    this.#lanes = lanes.map((lane) => channelName(this.#schema, 'lane', lane))
    for (const channel of this.#lanes) void this.lent.say(`listen ${quotedChannel(channel)}`)
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#broken?.()
    await this.#running
  }

  async #run(): Promise<void> {
    let pause = reconnectMs.first
    while (!this.#stop.signal.aborted) {
      try {
        await this.#listenUntilBroken(() => {
          pause = reconnectMs.first
        })
      } catch (error) {
        // Where the database is away the claim loop reports it, and the listener only tries again. Of another address it knows nothing.
        if (this.#database.listenConfig) this.#foundOut(reasons.noConnection((error as Error).message))
      }
      const hopeless = this.#unreachable === reasons.pooler || this.#unreachable === reasons.elsewhere
      const restMs = hopeless ? afterSwallowedMs : pause * (0.5 + Math.random())
      await sleep(restMs, { signal: this.#stop.signal })
      pause = Math.min(pause * 2, reconnectMs.most)
    }
  }

  async #listenUntilBroken(onReady: () => void): Promise<void> {
    const client = this.#newClient()
    const broken = new Promise<void>((resolve) => {
      this.#broken = resolve
      client.on('error', () => resolve())
      client.on('end', () => resolve())
    })
    client.on('notification', ({ channel, payload = '' }) =>
      channel === this.#own ? this.#events.ordered(payload) : this.#events.notified(),
    )
    let check: NodeJS.Timeout | undefined
    try {
      // stop() resolves `broken`, so that it does not wait for a server that does not answer.
      const ready = await Promise.race([this.#reach(client), broken.then(() => false)])
      if (!ready) return
      this.lent.open(client, () => this.#broken?.())
      this.#listening = true
      onReady()
      // Notifications that were sent while the connection was down are lost, so both are told to look.
      this.#events.notified()
      this.#events.ordered('')
      const checkLater = (ms: number) => {
        check = setTimeout(() => checkLater(this.lent.check(silentForMs)), ms)
      }
      checkLater(silentForMs)
      await broken
    } finally {
      clearTimeout(check)
      if (this.#listening) {
        this.#listening = false
        this.#events.disconnected()
      }
      await this.lent.close()
      await this.#sayGoodbye(client)
    }
  }

  /**
   * Connects and listens. False where notifications cannot arrive. Only a pooler makes the backend another one than the one that the
   * greeting named, so only then is it tried out, and always where the statements go to another address.
   */
  async #reach(client: pg.Client): Promise<boolean> {
    await client.connect()
    const pooled = (await backendOf(client)) !== (client as unknown as { processID: number }).processID
    const hears = (!pooled && !this.#database.listenConfig) || (await this.#hearsItself(client))
    this.#foundOut(hears ? undefined : pooled ? reasons.pooler : reasons.elsewhere)
    if (!hears) return false
    await client.query(`set tcp_user_timeout = ${this.#unreadForMs}`)
    await this.#listen(client)
    return true
  }

  #foundOut(why: string | undefined): void {
    const news = why !== this.#unreachable
    this.#unreachable = why
    if (news) this.#events.unreachable?.(why)
  }

  /**
   * Finds out whether a notification that is sent where the statements go arrives here. A pooler in session mode keeps one backend for this connection; where a second
   * connection gets the same backend, it is not in that mode. Where the second gets another one, it sends a NOTIFY: if that does not
   * arrive, the pooler is in transaction mode and left the LISTEN in whichever backend ran it.
   */
  async #hearsItself(client: pg.Client): Promise<boolean> {
    const caller = this.#newClient(this.#database.clientConfig)
    try {
      await caller.connect()
      const ours = await backendOf(client)
      if ((await backendOf(caller)) === ours) return false
      const heard = new Promise<boolean>((resolve) => client.once('notification', () => resolve(true)))
      const backend = await backendOf(client, `listen ${quotedChannel(this.#own)}`)
      await caller.query(`notify ${quotedChannel(this.#own)}`)
      const waited = new AbortController()
      const hears = await Promise.race([heard, sleep(answerWithinMs, { signal: waited.signal }).then(() => false)])
      waited.abort()
      if (!hears) await this.#takeBack(backend)
      return hears
    } finally {
      await this.#sayGoodbye(caller)
    }
  }

  /** Undoes the LISTEN in that backend of the pooler: opens transactions, each of which gets another backend, until one gets that backend. */
  async #takeBack(backend: number): Promise<void> {
    const borrowed: pg.Client[] = []
    try {
      while (borrowed.length < mostBorrowed) {
        const client = this.#newClient()
        borrowed.push(client)
        await client.connect()
        if ((await backendOf(client, 'begin')) !== backend) continue
        await client.query('unlisten *; commit')
        return
      }
    } catch {
      // The pooler has no more backends to give. It will close that one at some time.
    } finally {
      await Promise.all(borrowed.map((client) => client.query('rollback').catch(() => {})))
      await Promise.all(borrowed.map((client) => this.#sayGoodbye(client)))
    }
  }

  #newClient(config = this.#database.listenConfig ?? this.#database.clientConfig): pg.Client {
    const client = new pg.Client({ ...config, application_name: 'holdfast listener', query_timeout: answerWithinMs })
    client.on('error', () => {})
    return client
  }

  async #listen(client: pg.Client): Promise<void> {
    // Lanes may be added while this waits for the server; they too are listened to before `listening` becomes true.
    const heard = new Set<string>()
    for (;;) {
      const channel = [this.#own, ...this.#lanes].find((name) => !heard.has(name))
      if (channel === undefined) return
      await client.query(`listen ${quotedChannel(channel)}`)
      heard.add(channel)
    }
  }

  /** end() waits for a server that may never answer; the socket is closed either way. */
  async #sayGoodbye(client: pg.Client): Promise<void> {
    const waited = new AbortController()
    await Promise.race([client.end().catch(() => {}), sleep(goodbyeMs, { signal: waited.signal })])
    waited.abort()
    cutOff(client)
  }
}

/** Runs a statement and returns the backend it ran in. Both are sent in one message, so that any pooler runs both in one backend. */
async function backendOf(client: pg.Client, statement = ''): Promise<number> {
  const results = (await client.query(`${statement}; select pg_backend_pid() as pid`)) as unknown as
    | pg.QueryResult
    | pg.QueryResult[]
  return (Array.isArray(results) ? results : [results]).at(-1)?.rows[0].pid
}
