import pg from 'pg'
import type { Background } from '../background/background.js'
import { sleep } from '../clock.js'
import { cutOff, type Database } from './database.js'
import { channelName, quotedChannel } from './schema-name.js'

const checkEveryMs = 10_000
const answerWithinMs = 5_000
const reconnectMs = { first: 200, most: 5_000 }
const goodbyeMs = 500
const mostBorrowed = 20
/** A pooler that swallows calls will go on doing so; but it may be replaced, and a probe may have come too late. */
const afterSwallowedMs = 600_000
/**
 * How long the server lets what it sends lie unread. A process that is frozen reads nothing; its backend would wait in the middle of
 * its sending, with a snapshot that keeps every vacuum of the server from cleaning up, for as long as the process stays frozen.
 * On a Unix socket, and where the server's system cannot, it has no effect.
 */
const unreadForMs = 30_000

export const swallowedCalls =
  'a pooler in transaction mode swallows the notifications, so this worker looks for jobs five times a second: ' +
  'give listen: false, or a connection that goes past the pooler'

export interface ListenerEvents {
  /** Somebody called, or may have called while nobody listened. */
  notified(): void
  /** This worker alone was called, or may have been: one of its jobs was cancelled. */
  ordered(): void
  /** From now on no call can be heard. */
  disconnected(): void
  /** A pooler between here and the server swallows the calls. Said once. */
  swallowed?(): void
}

export interface ListenerOptions {
  unreadForMs?: number
}

/**
 * Hears the notifications of some lanes, on a connection of its own that it re-makes whenever it breaks. A half-open
 * connection says nothing at all, so it is asked a question every ten seconds. Losing it costs latency, never a job:
 * polling goes on underneath.
 */
export class Listener implements Background {
  readonly name = 'listener'
  readonly #config: pg.ClientConfig
  readonly #schema: string
  #lanes: readonly string[] = []
  readonly #own: string
  readonly #events: ListenerEvents
  readonly #stop = new AbortController()
  #listening = false
  #running: Promise<void> | undefined
  #broken: (() => void) | undefined
  #client: pg.Client | undefined
  readonly #unreadForMs: number
  #swallowed = false

  /** `own`: the worker that is also called alone, when one of its jobs is cancelled. */
  constructor(
    database: Pick<Database, 'clientConfig' | 'schema'>,
    own: number | 'remote',
    events: ListenerEvents,
    options: ListenerOptions = {},
  ) {
    this.#config = database.clientConfig
    this.#schema = database.schema
    this.#own = channelName(database.schema, 'worker', own)
    this.#events = events
    this.#unreadForMs = options.unreadForMs ?? unreadForMs
  }

  /** Whether notifications can arrive right now. */
  get listening(): boolean {
    return this.#listening
  }

  /** Whether a pooler was found to swallow the calls. */
  get swallowed(): boolean {
    return this.#swallowed
  }

  /** Hears these lanes from now on. A lane that is left out is only no longer waited for. */
  listenTo(lanes: readonly number[]): void {
    this.#lanes = lanes.map((lane) => channelName(this.#schema, 'lane', lane))
    for (const channel of this.#lanes) this.#client?.query(`listen ${quotedChannel(channel)}`).catch(() => this.#broken?.())
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
      } catch {
        // The database is away; the claim loop reports that. Here it only means to try again.
      }
      const restMs = this.#swallowed ? afterSwallowedMs : pause * (0.5 + Math.random())
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
    client.on('notification', ({ channel }) => (channel === this.#own ? this.#events.ordered() : this.#events.notified()))
    let check: NodeJS.Timeout | undefined
    try {
      // A stop is not to wait for a server that does not answer.
      const ready = await Promise.race([this.#reach(client), broken.then(() => false)])
      if (!ready) return
      this.#client = client
      this.#listening = true
      onReady()
      // Whatever was called while nobody listened is found by looking.
      this.#events.notified()
      this.#events.ordered()
      check = setInterval(() => client.query('select 1').catch(() => this.#broken?.()), checkEveryMs)
      await broken
    } finally {
      clearInterval(check)
      this.#client = undefined
      if (this.#listening) {
        this.#listening = false
        this.#events.disconnected()
      }
      await this.#sayGoodbye(client)
    }
  }

  /** False where calls cannot be heard. Behind a pooler the backend is another one than the one we were greeted by; only then it is tried. */
  async #reach(client: pg.Client): Promise<boolean> {
    await client.connect()
    const direct = (await backendOf(client)) === (client as unknown as { processID: number }).processID
    const hears = direct || (await this.#hearsThroughPooler(client))
    if (!hears && !this.#swallowed) this.#events.swallowed?.()
    this.#swallowed = !hears
    if (!hears) return false
    await client.query(`set tcp_user_timeout = ${this.#unreadForMs}`)
    await this.#listen(client)
    return true
  }

  /**
   * A pooler in session mode keeps one backend for us; where somebody else gets that one, it does not. Where they get another, they
   * call once, and what is not heard is swallowed: one in transaction mode leaves the LISTEN in whichever backend took it.
   */
  async #hearsThroughPooler(client: pg.Client): Promise<boolean> {
    const caller = this.#newClient()
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

  /** Takes the LISTEN back from that backend of the pooler: borrows one after the other until it is among them. */
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
      // All of them are taken. The pooler ends that one in its time.
    } finally {
      await Promise.all(borrowed.map((client) => client.query('rollback').catch(() => {})))
      await Promise.all(borrowed.map((client) => this.#sayGoodbye(client)))
    }
  }

  #newClient(): pg.Client {
    const client = new pg.Client({ ...this.#config, application_name: 'holdfast listener', query_timeout: answerWithinMs })
    client.on('error', () => {})
    return client
  }

  async #listen(client: pg.Client): Promise<void> {
    // Lanes may be added while this waits for the server; those are heard too before anybody is told that calls are heard.
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

/** Runs a statement and says which backend it ran in: both in one message, and so in one backend through any pooler. */
async function backendOf(client: pg.Client, statement = ''): Promise<number> {
  const results = (await client.query(`${statement}; select pg_backend_pid() as pid`)) as unknown as
    | pg.QueryResult
    | pg.QueryResult[]
  return (Array.isArray(results) ? results : [results]).at(-1)?.rows[0].pid
}
