import type { Background, Monitor } from '../background/background.js'
import { monotonicMs, sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import { isForgotten, type Orders, type RemoteJob, type WorkerCalls } from './calls.js'

/** Types that share slots. */
export interface ClaimGroup {
  readonly types: readonly string[]
  /** For how many more jobs of them there is room. */
  claimable(): number
}

export interface ClaimsEvents {
  claimed(jobs: readonly RemoteJob[], askedAtMs: number): void
  ordered(orders: Orders): void
  /** The server knows this worker no more; resolves when it does again. */
  forgotten(): Promise<void>
  /** The leases that this worker knows of. */
  known(): string[]
}

const waitMs = 20_000
const mostAtOnce = 100
const pauseMs = { first: 200, most: 30_000 }
/** Slots are looked at again after this even if none was told to be free. */
const lookAgainMs = 1_000

/**
 * Claims jobs, with one request for each group of types that share slots, which the server answers when there is a job. While the server is
 * away it is asked less and less often, up to twice a minute. A claim that was not answered may have been given jobs all the same: the next
 * one names the leases this worker knows, no other claim beside it, and the server frees the others.
 */
export class RemoteClaimLoop implements Background {
  readonly name = 'claims'
  readonly #calls: WorkerCalls
  readonly #groups: readonly ClaimGroup[]
  readonly #leaseMs: number
  readonly #monitor: Monitor
  readonly #events: ClaimsEvents
  readonly #stopping = new AbortController()
  readonly #underWay = new Map<AbortController, Promise<unknown>>()
  #loops: Promise<unknown> | undefined
  #free = new AbortController()
  #unsure = false
  #clearing: Promise<void> | undefined

  constructor(calls: WorkerCalls, groups: readonly ClaimGroup[], leaseMs: number, monitor: Monitor, events: ClaimsEvents) {
    this.#calls = calls
    this.#groups = groups
    this.#leaseMs = leaseMs
    this.#monitor = monitor
    this.#events = events
  }

  start(): void {
    this.#loops ??= Promise.all(this.#groups.map((group) => this.#loop(group)))
  }

  /** What the server has just given to a request that hangs up, it takes back. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#hangUp()
    await this.#loops
  }

  slotFree(): void {
    this.#free.abort()
    this.#free = new AbortController()
  }

  async #loop(group: ClaimGroup): Promise<void> {
    const { signal } = this.#stopping
    let pause = pauseMs.first
    while (!signal.aborted) {
      const limit = Math.min(mostAtOnce, group.claimable())
      if (limit === 0) {
        await sleep(lookAgainMs, { signal: this.#free.signal })
        continue
      }
      try {
        await this.#clear(group)
        await this.#claim(group, limit)
        pause = pauseMs.first
      } catch (error) {
        if (signal.aborted) return
        this.#monitor.failed(this.name, error)
        if (isForgotten(error)) await this.#events.forgotten()
        const asked = error instanceof HoldfastError ? (error.retryAfterMs ?? 0) : 0
        // Not all at the same moment: those who were sent away together would come back together.
        await sleep(Math.max(asked, pause) * (0.75 + Math.random() / 2), { signal })
        pause = Math.min(pause * 2, pauseMs.most)
      }
    }
  }

  async #claim(group: ClaimGroup, limit: number): Promise<void> {
    await this.#ask({ types: [...group.types], limit, lease: this.#leaseMs }, waitMs)
  }

  /** One claim alone, that names what this worker has. */
  async #clear({ types }: ClaimGroup): Promise<void> {
    if (!this.#unsure) return
    this.#clearing ??= (async () => {
      await Promise.allSettled(this.#underWay.values())
      await this.#ask({ types: [...types], limit: 1, lease: this.#leaseMs, holding: this.#events.known() }, 0)
      this.#unsure = false
    })().finally(() => {
      this.#clearing = undefined
    })
    await this.#clearing
  }

  async #ask(body: Parameters<WorkerCalls['claim']>[0], wait: number): Promise<void> {
    const controller = new AbortController()
    const askedAtMs = monotonicMs()
    const asking = this.#calls.claim(body, wait, controller.signal)
    this.#underWay.set(controller, asking)
    try {
      const answer = await asking
      this.#monitor.answered(this.name)
      if (answer.jobs.length > 0) this.#events.claimed(answer.jobs, askedAtMs)
      this.#events.ordered(answer)
    } catch (error) {
      this.#unsure = true
      this.#hangUp()
      throw error
    } finally {
      this.#underWay.delete(controller)
    }
  }

  #hangUp(): void {
    for (const controller of this.#underWay.keys()) controller.abort()
  }
}
