import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { monotonicMs } from '../clock.js'
import type { Background } from './background.js'

/** What a worker says of its process with each heartbeat. */
export interface Vitals {
  /** How late the event loop was at most since the last heartbeat, or the one before. */
  lagMs: number
  memoryBytes: number
  /** How many connections to a database it has open. */
  connections: number
}

/** Ten looks a second cost an idle worker nothing that can be measured, and no block of the event loop that people feel escapes them. */
const lookEveryMs = 100

const keptForMs = 1_000

/**
 * Measures the process of a worker. The histograms are kept by Node outside of the event loop: measuring runs no JavaScript. There are two,
 * because one that has just begun, or was reset, does not see a block that begins before its first look: the other one does.
 */
export class VitalSigns implements Background {
  readonly name = 'vital signs'
  #older = measuring()
  #newer = measuring()
  #begunAt = monotonicMs()

  start(): void {
    for (const delay of [this.#older, this.#newer]) delay.enable()
  }

  async stop(): Promise<void> {
    for (const delay of [this.#older, this.#newer]) delay.disable()
  }

  /** What happened since the last call or the one before, at least in the last second, and what is now. */
  take(): { lagMs: number; memoryBytes: number } {
    const longest = Math.max(this.#older.max, this.#newer.max)
    const now = monotonicMs()
    if (now - this.#begunAt >= keptForMs) {
      this.#older.disable()
      this.#older = this.#newer
      this.#newer = measuring()
      this.#newer.enable()
      this.#begunAt = now
    }
    return { lagMs: Math.max(0, Math.round(longest / 1e6) - lookEveryMs), memoryBytes: process.memoryUsage.rss() }
  }
}

function measuring(): IntervalHistogram {
  return monitorEventLoopDelay({ resolution: lookEveryMs })
}
