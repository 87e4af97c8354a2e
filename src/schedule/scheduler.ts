import type { Background, Monitor } from '../background/background.js'
import { sleep } from '../clock.js'
import type { WorkerEvents } from '../events.js'
import { describeFailure } from '../job/failure.js'
import { newJobId } from '../job/id.js'
import type { Privacy } from '../privacy/privacy.js'
import type { DueScheduleRow, NewTick, ScheduleStore } from '../store/schedule-store.js'
import { isConnectionTrouble } from '../store/sqlstate.js'
import { dueTicks } from './due.js'
import type { ScheduleSpec } from './spec.js'
import { jitterOf } from './ticks.js'

/** A schedule that somebody else creates or resumes is seen after this. */
const longestRestMs = 10_000
/** How much later than the tick a worker looks, at most: of a large fleet the first one fires, and the others find nothing. */
const spreadMs = 100
const atOnce = 100
/** For how long the others leave what is due to the worker that began with it. */
const holdMs = 2_000
/** As many connections as it takes of those that claims and results need. */
const abreast = 2

interface Hearer {
  tell<Name extends 'schedule.dropped' | 'schedule.failed'>(name: Name, event: WorkerEvents[Name][0]): void
}

/**
 * Fires what is due. Every worker has one, and any number may run at once: what must not happen twice is prevented in the database, by
 * the key of a tick and by comparing the schedule with what was decided about. The time is that of the database.
 */
export class Scheduler implements Background {
  readonly name = 'scheduler'
  readonly #store: ScheduleStore
  readonly #privacy: Privacy
  readonly #worker: number
  readonly #monitor: Monitor
  readonly #hearer: Hearer
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined

  constructor(store: ScheduleStore, privacy: Privacy, worker: number, monitor: Monitor, hearer: Hearer) {
    this.#store = store
    this.#privacy = privacy
    this.#worker = worker
    this.#monitor = monitor
    this.#hearer = hearer
  }

  start(): void {
    this.#running ??= this.#repeat()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      let restMs = longestRestMs * (0.5 + Math.random() / 2)
      try {
        const nextInMs = await this.look()
        if (nextInMs !== null && nextInMs < restMs) restMs = nextInMs === 0 ? 0 : nextInMs + Math.random() * spreadMs
        this.#monitor.answered('scheduler')
      } catch (error) {
        this.#monitor.failed('scheduler', error)
      }
      if (restMs > 0) await sleep(restMs, { signal })
    }
  }

  /** Fires what is due, at most so many schedules. Answers when to look again. */
  async look(): Promise<number | null> {
    const { now, due, nextInMs } = await this.#store.due(this.#worker, atOnce, holdMs)
    const rest = [...(due ?? [])]
    const fireAll = async () => {
      for (let row = rest.shift(); row && !this.#stop.signal.aborted; row = rest.shift()) await this.#fire(row, now)
    }
    await Promise.all(Array.from({ length: abreast }, fireAll))
    return nextInMs
  }

  async #fire(row: DueScheduleRow, now: number): Promise<void> {
    try {
      const spec = row.spec as ScheduleSpec
      const { ticks, dropped, handledTo, next } = dueTicks(spec, row.handled_to, now)
      const fired = await this.#store.fire(
        row,
        ticks.map((tick) => this.#newTick(row, spec, tick)),
        {
          handledTo: new Date(handledTo).toISOString(),
          nextAt: next === undefined ? 'infinity' : new Date(next).toISOString(),
          dropped: dropped?.count ?? 0,
          droppedTo: dropped ? new Date(dropped.last).toISOString() : null,
        },
      )
      if (!fired || !dropped) return
      const last = new Date(dropped.last).toISOString()
      this.#hearer.tell('schedule.dropped', { schedule: row.name, ticks: dropped.count, last })
    } catch (error) {
      if (isConnectionTrouble(error)) throw error
      const { message } = describeFailure(error)
      this.#hearer.tell('schedule.failed', { schedule: row.name, error: message })
      await this.#store.putOff(row, message)
    }
  }

  #newTick({ name, encrypted }: DueScheduleRow, spec: ScheduleSpec, tick: number): NewTick {
    const job = newJobId()
    const later = jitterOf(name, tick, spec.jitterMs)
    return {
      tick: new Date(tick).toISOString(),
      due: later === 0 ? null : new Date(tick + later).toISOString(),
      job,
      payload: payloadFor(this.#privacy, { type: spec.type, encrypted }, job, spec.payload),
    }
  }
}

/** The payload of one job: encrypted for that job where those of its type are. */
export function payloadFor(privacy: Privacy, type: { type: string; encrypted: boolean }, job: string, payload: string): string {
  return privacy.encrypts(type.encrypted) ? privacy.encrypt(type.type, job, payload) : payload
}
