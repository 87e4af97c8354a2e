import pg from 'pg'
import { sleep } from '../clock.js'

const checkEveryMs = 10_000
const answerWithinMs = 5_000
const reconnectMs = { first: 200, most: 5_000 }

/**
 * Hears the wake-up calls of some lanes, on a connection of its own that it re-makes whenever it breaks. A half-open
 * connection says nothing at all, so it is asked a question every ten seconds. Losing it costs latency, never a job:
 * polling goes on underneath.
 */
export class Listener {
  readonly #config: pg.ClientConfig
  #lanes: readonly string[] = []
  readonly #own: { channel: string; onCall: () => void }
  readonly #onWake: () => void
  readonly #stop = new AbortController()
  #client: pg.Client | undefined
  #running: Promise<void> | undefined
  #broken: (() => void) | undefined

  /** `own` is the channel on which this worker alone is called. */
  constructor(config: pg.ClientConfig, own: { channel: string; onCall: () => void }, onWake: () => void) {
    this.#config = config
    this.#own = own
    this.#onWake = onWake
  }

  /** Whether wake-up calls can arrive right now. */
  get listening(): boolean {
    return this.#client !== undefined
  }

  /** Hears these lanes from now on. A lane that is left out is only no longer waited for. */
  listenTo(lanes: readonly number[]): void {
    this.#lanes = lanes.map((lane) => `holdfast_lane_${lane}`)
    for (const channel of this.#lanes) this.#client?.query(`listen ${channel}`).catch(() => this.#broken?.())
    this.#onWake()
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
    client.on('notification', ({ channel }) => (channel === this.#own.channel ? this.#own.onCall() : this.#onWake()))
    try {
      await client.connect()
      for (const channel of [this.#own.channel, ...this.#lanes]) await client.query(`listen ${channel}`)
      this.#client = client
      onReady()
      // Whatever was called while nobody listened is found by looking.
      this.#onWake()
      this.#own.onCall()
      const check = setInterval(() => client.query('select 1').catch(() => this.#broken?.()), checkEveryMs)
      await broken
      clearInterval(check)
    } finally {
      this.#client = undefined
      // end() waits for a server that may never answer; the socket is closed either way.
      void client.end().catch(() => {})
      const { stream } = (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection ?? {}
      setTimeout(() => stream?.destroy(), 500).unref()
    }
  }
}
