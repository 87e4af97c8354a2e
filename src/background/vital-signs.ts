import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Background } from './background.js'

/** What a worker says of its process with each heartbeat. */
export interface Vitals {
  /** How late the event loop was at most since the last heartbeat. */
  lagMs: number
  memoryBytes: number
  /** How many connections to a database it has open. */
  connections: number
}

/** Ten looks a second cost an idle worker nothing that can be measured, and no block of the event loop that people feel escapes them. */
const lookEveryMs = 100

/** Measures the process of a worker. The histogram is kept by Node outside of the event loop: measuring runs no JavaScript. */
export class VitalSigns implements Background {
  readonly name = 'vital signs'
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: lookEveryMs })

  start(): void {
    this.#delay.enable()
  }

  async stop(): Promise<void> {
    this.#delay.disable()
  }

  /** What happened since the last call, and what is now. */
  take(): { lagMs: number; memoryBytes: number } {
    const lagMs = Math.max(0, Math.round(this.#delay.max / 1e6) - lookEveryMs)
    this.#delay.reset()
    return { lagMs, memoryBytes: process.memoryUsage.rss() }
  }
}
