import { randomUUID } from 'node:crypto'
import type { Background } from '../background/background.js'
import { closeRedis, openRedis, type RedisClient } from './redis.js'
import type { Said } from './wake-ups.js'

/** A listener sends itself a message on another connection. If that has not arrived after so long, it reports that nothing arrives, and sends it again. */
const hearWithinMs = 3_000

export interface WakeUpListenerEvents {
  /** There are new jobs, or there may have been while the Redis could not be reached. */
  notified(): void
  /** From now on no notification arrives. */
  disconnected(): void
  /** Why no notification can arrive; undefined: they arrive again. Comes once for each. */
  unreachable?(why: string | undefined): void
}

export interface WakeUpListenerSettings {
  url: string
  channel: string
  types: ReadonlySet<string> | undefined
  publish(said: Said): void
}

/** Receives what producers publish over the Redis. Whenever it has connected it publishes a message of its own, and counts as listening once that has arrived. */
export class WakeUpListener implements Background {
  readonly name = 'listener'
  readonly #settings: WakeUpListenerSettings
  readonly #events: WakeUpListenerEvents
  readonly #token = randomUUID()
  #client: RedisClient | undefined
  #check: NodeJS.Timeout | undefined
  #listening = false
  #unreachable: string | undefined

  constructor(settings: WakeUpListenerSettings, events: WakeUpListenerEvents) {
    this.#settings = settings
    this.#events = events
  }

  /** Whether a notification can arrive right now. */
  get listening(): boolean {
    return this.#listening
  }

  /** Why none can; undefined: it can. */
  get unreachable(): string | undefined {
    return this.#unreachable
  }

  /** Types are heard wherever they run. */
  listenTo(): void {}

  start(): void {
    if (this.#client) return
    const client = openRedis(this.#settings.url)
    this.#client = client
    client.on('error', (error: Error) => this.#lost(`the Redis of wakeUrl cannot be reached (${error.message || 'no answer'})`))
    client.on('ready', () => this.#checkHearing())
    client
      .connect()
      .then(() => client.subscribe(this.#settings.channel, (text) => this.#heard(text)))
      .then(() => this.#checkHearing())
      .catch((error: Error) => this.#lost(`the Redis of wakeUrl refuses to listen (${error.message})`))
  }

  async stop(): Promise<void> {
    clearTimeout(this.#check)
    if (this.#client) closeRedis(this.#client)
    this.#client = undefined
    this.#listening = false
  }

  #checkHearing(): void {
    clearTimeout(this.#check)
    this.#settings.publish({ token: this.#token })
    this.#check = setTimeout(() => {
      this.#lost('the Redis of wakeUrl passes nothing on')
      this.#checkHearing()
    }, hearWithinMs).unref()
  }

  #heard(text: string): void {
    const said = readSaid(text)
    if (said.token === this.#token) this.#hears()
    const { types } = this.#settings
    if (said.types && (types === undefined || said.types.some((type) => types.has(type)))) this.#events.notified()
  }

  #hears(): void {
    clearTimeout(this.#check)
    const news = this.#unreachable !== undefined
    this.#unreachable = undefined
    this.#listening = true
    if (news) this.#events.unreachable?.(undefined)
    // What was published while nothing could arrive is lost.
    this.#events.notified()
  }

  #lost(why: string): void {
    if (!this.#client) return
    if (this.#listening) {
      this.#listening = false
      this.#events.disconnected()
    }
    if (this.#unreachable === why) return
    this.#unreachable = why
    this.#events.unreachable?.(why)
  }
}

/** Others may say anything on the channel. */
function readSaid(text: string): Said {
  try {
    const { types, token } = JSON.parse(text) ?? {}
    return { ...(Array.isArray(types) && { types }), ...(typeof token === 'string' && { token }) }
  } catch {
    return {}
  }
}
