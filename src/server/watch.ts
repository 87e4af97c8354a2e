import { sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { InspectStore } from '../store/inspect-store.js'
import type { WatchedRow } from '../store/rows.js'

const everyMs = 200
const atOnce = 1_000
const mostWatched = 5_000
/** One service may have only a part of them, so that others find room. */
const mostOfOneService = 500

interface Watcher {
  id: string
  service: string
  last: string
  tell(row: WatchedRow | undefined): void
}

/**
 * Reads the status of jobs for all requests that wait for them, in one query, five times a second: a thousand watchers cost as many queries
 * as one, and none needs a connection of its own. Without watchers it sends no query.
 */
export class JobWatch {
  readonly #store: InspectStore
  readonly #mostOfOne: number
  readonly #watchers = new Set<Watcher>()
  readonly #ofService = new Map<string, number>()
  #looking = false

  constructor(store: InspectStore, mostOfOne = mostOfOneService) {
    this.#store = store
    this.#mostOfOne = mostOfOne
  }

  /** Calls back with the state of the job now and whenever it changes; undefined when it is no longer kept. Returns a function that stops it. */
  watch(id: string, service: string, tell: Watcher['tell']): () => void {
    const own = this.#ofService.get(service) ?? 0
    if (own >= this.#mostOfOne) throw full(`${service} has ${own} streams and waits open here already, as many as a service may`)
    if (this.#watchers.size >= mostWatched) throw full(`${mostWatched} jobs are being watched here already`)
    const watcher = { id: id.toLowerCase(), service, last: '', tell }
    this.#watchers.add(watcher)
    this.#ofService.set(service, own + 1)
    if (!this.#looking) void this.#look()
    return () => this.#stop(watcher)
  }

  #stop(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher)) return
    const left = (this.#ofService.get(watcher.service) ?? 1) - 1
    if (left > 0) this.#ofService.set(watcher.service, left)
    else this.#ofService.delete(watcher.service)
  }

  async #look(): Promise<void> {
    this.#looking = true
    while (this.#watchers.size > 0) {
      // While the database cannot be reached, watchers keep waiting.
      await this.#lookOnce().catch(() => {})
      await sleep(everyMs, { unref: true })
    }
    this.#looking = false
  }

  async #lookOnce(): Promise<void> {
    const watchers = [...this.#watchers]
    const ids = [...new Set(watchers.map(({ id }) => id))]
    const rows = new Map<string, WatchedRow>()
    for (let at = 0; at < ids.length; at += atOnce) {
      for (const row of await this.#store.watched(ids.slice(at, at + atOnce))) rows.set(row.id, row)
    }
    for (const watcher of watchers) {
      const row = rows.get(watcher.id)
      const now = JSON.stringify(row ?? null)
      if (now === watcher.last || !this.#watchers.has(watcher)) continue
      watcher.last = now
      watcher.tell(row)
    }
  }
}

function full(problem: string): HoldfastError {
  return new HoldfastError('rate_limited', problem, { retryAfterMs: 5_000 })
}
