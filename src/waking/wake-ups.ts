import { WakeUpListener, type WakeUpListenerEvents } from './listener.js'
import { closeRedis, loadRedis, openRedis, type RedisClient } from './redis.js'

/** Producers in a hurry say once in this time which types have new jobs. */
const togetherMs = 10

/** What is said on the channel: these types have new jobs, or a listener finds out whether it hears itself. */
export interface Said {
  types?: string[]
  token?: string
}

/**
 * Wakes idle workers by way of a Redis, for where LISTEN cannot work. Whatever is said here may be lost, and then a job waits for the next
 * poll: nothing waits for a Redis, and no job fails for one. Installations with schemas of the same name that share a Redis wake each other in vain.
 */
export class WakeUps {
  readonly #url: string
  readonly #channel: string
  readonly #types = new Set<string>()
  #client: RedisClient | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** Throws where the package that it needs is not there. */
  constructor(url: string, schema: string) {
    loadRedis()
    this.#url = url
    this.#channel = `holdfast:${schema}`
  }

  /** Jobs of these types are committed. */
  newJobs(types: Iterable<string>): void {
    for (const type of types) this.#types.add(type)
    if (this.#types.size === 0 || this.#timer) return
    this.#tell()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#types.size > 0) this.newJobs([])
    }, togetherMs).unref()
  }

  /** Hears of new jobs of these types; undefined: of all. */
  listener(types: ReadonlySet<string> | undefined, events: WakeUpListenerEvents): WakeUpListener {
    const publish = (said: Said) => void this.#publish(said)
    return new WakeUpListener({ url: this.#url, channel: this.#channel, types, publish }, events)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    if (this.#client) closeRedis(this.#client)
  }

  #tell(): void {
    const types = [...this.#types]
    this.#types.clear()
    void this.#publish({ types })
  }

  async #publish(said: Said): Promise<void> {
    if (this.#closed) return
    try {
      if (!this.#client) {
        this.#client = openRedis(this.#url)
        await this.#client.connect()
      }
      await this.#client.publish(this.#channel, JSON.stringify(said))
    } catch {
      // Whoever listens says that the Redis is away.
    }
  }
}
