import pg from 'pg'
import { sleep } from '../clock.js'
import { cutOff } from './database.js'

const checkEveryMs = 10_000
const answerWithinMs = 5_000
const reconnectMs = { first: 200, most: 5_000 }
const goodbyeMs = 500

export interface ListenerEvents {
  /** Somebody called, or may have called while nobody listened. */
  called(): void
  /** This worker alone was called, or may have been: one of its jobs was cancelled. */
  ordered(): void
  /** From now on no call can be heard. */
  deaf(): void
}

/**
 * Hears the wake-up calls of some lanes, on a connection of its own that it re-makes whenever it breaks. A half-open
 * connection says nothing at all, so it is asked a question every ten seconds. Losing it costs latency, never a job:
 * polling goes on underneath.
 */
export class Listener {
  readonly #config: pg.ClientConfig
  #lanes: readonly string[] = []
  readonly #own: string
  readonly #events: ListenerEvents
  readonly #stop = new AbortController()
  #listening = false
  #running: Promise<void> | undefined
  #broken: (() => void) | undefined
  #client: pg.Client | undefined

  /** `own` is the channel on which this worker alone is called. */
  constructor(config: pg.ClientConfig, own: string, events: ListenerEvents) {
    this.#config = config
    this.#own = own
    this.#events = events
  }

  /** Whether wake-up calls can arrive right now. */
  get listening(): boolean {
    return this.#listening
  }

  /** Hears these lanes from now on. A lane that is left out is only no longer waited for. */
  listenTo(lanes: readonly number[]): void {
    this.#lanes = lanes.map((lane) => `holdfast_lane_${lane}`)
    for (const channel of this.#lanes) this.#client?.query(`listen ${channel}`).catch(() => this.#broken?.())
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
      await sleep(pause * (0.5 + Math.random()), { signal: this.#stop.signal })
      pause = Math.min(pause * 2, reconnectMs.most)
    }
  }

  async #listenUntilBroken(onReady: () => void): Promise<void> {
    const client = new pg.Client({ ...this.#config, application_name: 'holdfast listener', query_timeout: answerWithinMs })
    const broken = new Promise<void>((resolve) => {
      this.#broken = resolve
      client.on('error', () => resolve())
      client.on('end', () => resolve())
    })
    client.on('notification', ({ channel }) => (channel === this.#own ? this.#events.ordered() : this.#events.called()))
    let check: NodeJS.Timeout | undefined
    try {
      // A stop is not to wait for a server that does not answer.
      const ready = await Promise.race([this.#listen(client).then(() => true), broken.then(() => false)])
      if (!ready) return
      this.#client = client
      this.#listening = true
      onReady()
      // Whatever was called while nobody listened is found by looking.
      this.#events.called()
      this.#events.ordered()
      check = setInterval(() => client.query('select 1').catch(() => this.#broken?.()), checkEveryMs)
      await broken
    } finally {
      clearInterval(check)
      this.#client = undefined
      if (this.#listening) {
        this.#listening = false
        this.#events.deaf()
      }
      await this.#sayGoodbye(client)
    }
  }

  async #listen(client: pg.Client): Promise<void> {
    await client.connect()
    // Lanes may be added while this waits for the server; those are heard too before anybody is told that calls are heard.
    const heard = new Set<string>()
    for (;;) {
      const channel = [this.#own, ...this.#lanes].find((name) => !heard.has(name))
      if (channel === undefined) return
      await client.query(`listen ${channel}`)
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
