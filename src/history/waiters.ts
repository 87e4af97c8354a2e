import { monotonicMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import { Listener } from '../store/listener.js'
import { explained, isWorthAnotherTry } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import type { EndedRow } from '../store/wait-store.js'

/** How many jobs one statement asks about. */
const atOnce = 1_000
/**
 * A job is asked about again after 10 ms, then after twice as long each time: whoever ended it may have looked for waiters just before this one
 * registered. What a notification tells is asked about at once, so with a listener the last step is only a net.
 */
const pollMs = { first: 10, listening: 5_000, otherwise: 500 }
/** How long the listener stays after the last wait, because the next one may come soon. */
const lingerMs = 10_000

interface Waiter {
  resolve(row: EndedRow): void
  reject(error: unknown): void
}

/** A job that somebody waits for. */
interface Open {
  waiters: Set<Waiter>
  nextAtMs: number
  delayMs: number
  /** Whoever ends it is asked to say so. */
  registered: boolean
}

/** Everybody in this process who waits for the end of a job. However many they are, they share one listener and one poll. */
export class Waiters {
  readonly #store: Store
  readonly #open = new Map<string, Open>()
  #listener: Listener | undefined
  #lingering: NodeJS.Timeout | undefined
  #timer: NodeJS.Timeout | undefined
  #looking = false
  /** Registrations of jobs that nobody waits for any more. */
  #done: string[] = []

  constructor(store: Store) {
    this.#store = store
  }

  /** Resolves with the end of the job; a row without a status: no such job is kept. */
  ended(id: string, ms: number, signal: AbortSignal | undefined): Promise<EndedRow> {
    signal?.throwIfAborted()
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', aborted)
        this.#leave(id, waiter)
      }
      const aborted = (): void => waiter.reject(signal?.reason)
      const waiter: Waiter = {
        resolve(row) {
          leave()
          resolve(row)
        },
        reject(error) {
          leave()
          reject(error)
        },
      }
      const timer = setTimeout(() => waiter.reject(late(id, ms)), ms)
      signal?.addEventListener('abort', aborted)
      this.#enter(id, waiter)
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#lingering)
    const problem = new HoldfastError('wait_timeout', 'this Holdfast was closed before the job had ended')
    for (const waiter of this.#all()) waiter.reject(problem)
    clearTimeout(this.#timer)
    await this.#unregister()
    await this.#listener?.stop()
    this.#listener = undefined
  }

  #enter(id: string, waiter: Waiter): void {
    const open = this.#open.get(id)
    if (open) {
      open.waiters.add(waiter)
      return
    }
    this.#open.set(id, { waiters: new Set([waiter]), nextAtMs: monotonicMs(), delayMs: pollMs.first, registered: false })
    clearTimeout(this.#lingering)
    this.#listener ??= this.#listen()
    this.#lookIn(0)
  }

  #leave(id: string, waiter: Waiter): void {
    const open = this.#open.get(id)
    if (!open?.waiters.delete(waiter) || open.waiters.size > 0) return
    this.#open.delete(id)
    if (open.registered) this.#done.push(id)
    if (this.#open.size > 0) return
    this.#lookIn(0)
    clearTimeout(this.#lingering)
    this.#lingering = setTimeout(() => this.#rest(), lingerMs).unref()
  }

  #rest(): void {
    if (this.#open.size > 0) return
    void this.#listener?.stop()
    this.#listener = undefined
  }

  #listen(): Listener {
    const listener = new Listener(this.#store.database, 'waiters', {
      notified() {},
      ordered: (ids) => this.#heard(ids),
      disconnected: () => this.#forgetRegistrations(),
    })
    listener.start()
    return listener
  }

  /** These may have ended. Nothing named: the listener has just begun, and any of them may have. */
  #heard(ids: string): void {
    const named = ids === '' ? [...this.#open.keys()] : ids.split(',')
    for (const id of named) {
      const open = this.#open.get(id)
      if (open) Object.assign(open, { nextAtMs: monotonicMs(), delayMs: pollMs.first })
    }
    this.#lookIn(0)
  }

  /** What the next listener hears has to be asked for again: a server that crashed has forgotten it. */
  #forgetRegistrations(): void {
    for (const open of this.#open.values()) open.registered = false
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#looking) this.#timer = setTimeout(() => void this.#look(), ms)
  }

  async #look(): Promise<void> {
    this.#looking = true
    try {
      const now = monotonicMs()
      const due = [...this.#open].filter(([, { nextAtMs }]) => nextAtMs <= now).slice(0, atOnce)
      await this.#register(due)
      if (due.length > 0) await this.#ask(due)
      await this.#unregister()
    } finally {
      this.#looking = false
      const next = Math.min(...[...this.#open.values()].map(({ nextAtMs }) => nextAtMs))
      if (next < Number.POSITIVE_INFINITY) this.#lookIn(Math.max(0, next - monotonicMs()))
    }
  }

  async #ask(due: readonly [string, Open][]): Promise<void> {
    try {
      const rows = await this.#store.wait.ends(due.map(([id]) => id))
      for (const row of rows) for (const waiter of [...(this.#open.get(row.id)?.waiters ?? [])]) waiter.resolve(row)
    } catch (error) {
      // A database that is away says nothing about the jobs; whoever waits goes on doing so.
      if (!isWorthAnotherTry(error))
        for (const [, { waiters }] of due) for (const waiter of [...waiters]) waiter.reject(explained(error))
    }
    const most = this.#listener?.listening ? pollMs.listening : pollMs.otherwise
    for (const [, open] of due) {
      open.nextAtMs = monotonicMs() + open.delayMs
      open.delayMs = Math.min(most, open.delayMs * 2)
    }
  }

  /** Asks whoever ends these jobs to say so. Where that is refused, as to a role that only reads, polling has to do. */
  async #register(due: readonly [string, Open][]): Promise<void> {
    if (!this.#listener?.listening) return
    const fresh = due.filter(([, { registered }]) => !registered)
    if (fresh.length === 0) return
    for (const [, open] of fresh) open.registered = true
    await this.#store.wait.register(fresh.map(([id]) => id)).catch(ignore)
  }

  /** What somebody has begun to wait for again meanwhile stays registered. */
  async #unregister(): Promise<void> {
    const done = this.#done.splice(0).filter((id) => !this.#open.has(id))
    if (done.length === 0) return
    await this.#store.wait.unregister(done).catch(ignore)
  }

  #all(): Waiter[] {
    return [...this.#open.values()].flatMap(({ waiters }) => [...waiters])
  }
}

function late(id: string, ms: number): HoldfastError {
  return new HoldfastError('wait_timeout', `job ${id} had not ended after ${ms} ms; it goes on`)
}

function ignore(): void {}
