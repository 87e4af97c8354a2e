import { monotonicMs } from '../../clock.js'
import { Host, HostBroken, type OpenChannel } from './host.js'

export interface HostPoolSettings {
  open: OpenChannel
  recycle: { readonly jobs: number; readonly memoryMb: number }
  /** Whether to start no new host for a while after several died in a row. */
  rests: boolean
  /** A host died or did not start: how many did so in a row, and for how long no new one is started. */
  onCrash(reason: string, inARow: number, restMs: number): void
  /** Hosts may be started again. */
  onRested(): void
}

export interface PoolTrouble {
  inARow: number
  restMs: number
  reason: string
}

/** A host without a job for this long is ended, because it takes 10 MB (thread) to 40 MB (process). */
const idleMs = 60_000
/** A single crash may be the job's fault; from the second in a row on it may be the host's, and the pool waits before each new one, twice as long each time. */
const rest = { fromInARow: 2, firstMs: 500, mostMs: 30_000 }

/** The threads or processes of one type: made when needed, used again, replaced when old, large or dead. */
export class HostPool {
  readonly #settings: HostPoolSettings
  readonly #all = new Set<Host>()
  readonly #idle: { host: Host; timer: NodeJS.Timeout }[] = []
  #inARow = 0
  #lastReason = ''
  #restUntil = 0
  #restTimer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(settings: HostPoolSettings) {
    this.#settings = settings
  }

  /** How long no host will be started, because the last ones died in a row. */
  get restMs(): number {
    return Math.max(0, this.#restUntil - monotonicMs())
  }

  /** Undefined while all is well. */
  get trouble(): PoolTrouble | undefined {
    if (this.#inARow < rest.fromInARow) return undefined
    return { inARow: this.#inARow, restMs: Math.round(this.restMs), reason: this.#lastReason }
  }

  /** An idle host, or a new one as soon as it has loaded the handlers. Rejects with HostBroken. */
  async take(triesLeft = 3): Promise<Host> {
    while (this.#idle.length > 0) {
      const { host, timer } = this.#idle.pop() as { host: Host; timer: NodeJS.Timeout }
      clearTimeout(timer)
      if (host.alive) return host
    }
    const host = new Host(this.#settings.open)
    this.#all.add(host)
    void host.gone.then(() => this.#all.delete(host))
    try {
      await host.ready
    } catch (error) {
      if (!(error instanceof HostBroken) || this.#stopped) throw error
      if (error.fell && triesLeft > 1) return this.take(triesLeft - 1)
      this.crashed(error.message)
      throw error
    }
    return host
  }

  /** Takes a host back after a job. Not `clean`: something of that job may still be running in it. */
  giveBack(host: Host, clean: boolean): void {
    if (clean) this.#recover()
    const { jobs, memoryMb } = this.#settings.recycle
    if (this.#stopped || !clean || host.jobs >= jobs || host.memoryMb >= memoryMb) return host.kill()
    this.#idle.push({ host, timer: setTimeout(() => host.kill(), idleMs).unref() })
  }

  crashed(reason: string): void {
    this.#inARow += 1
    this.#lastReason = reason
    const late = this.#inARow - rest.fromInARow
    const restMs = late < 0 || !this.#settings.rests ? 0 : Math.min(rest.mostMs, rest.firstMs * 2 ** late)
    this.#settings.onCrash(reason, this.#inARow, restMs)
    if (restMs === 0) return
    this.#restUntil = monotonicMs() + restMs
    clearTimeout(this.#restTimer)
    this.#restTimer = setTimeout(() => this.#settings.onRested(), restMs + 1).unref()
  }

  /** Ends all hosts, whatever runs in them. Resolves when they are gone. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#restTimer)
    for (const { timer } of this.#idle) clearTimeout(timer)
    const all = [...this.#all]
    for (const host of all) host.kill()
    await Promise.all(all.map((host) => host.gone))
  }

  #recover(): void {
    this.#inARow = 0
    this.#restUntil = 0
  }
}
