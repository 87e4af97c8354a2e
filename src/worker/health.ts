import { monotonicMs } from '../clock.js'

export interface Health {
  status: 'ok' | 'unhealthy' | 'stopping'
  /** Why it is not ok, in one sentence. */
  reason?: string
  running: number
  /** Results that are finished here and not yet in the database. */
  unwritten: number
  lastContactMs: number
  /** Types whose threads or processes die one after the other; the next one starts in `restMs`. */
  crashing?: { type: string; inARow: number; restMs: number; reason: string }[]
  /** How many inline handlers of a type go on although they were told to stop. They keep their memory, not their slot. */
  overrunning?: Record<string, number>
}

const unhealthyAfterMs = 30_000

/** Whether the worker truly works: the database answered lately, whoever asked. */
export class Pulse {
  #contactAt = monotonicMs()
  #awaySince: number | undefined
  #lastError = ''

  contact(): { awayMs: number } | undefined {
    this.#contactAt = monotonicMs()
    if (this.#awaySince === undefined) return undefined
    const awayMs = Math.round(this.#contactAt - this.#awaySince)
    this.#awaySince = undefined
    return { awayMs }
  }

  /** True when this is the first sign of trouble since the last contact. */
  trouble(error: string): boolean {
    this.#lastError = error
    if (this.#awaySince !== undefined) return false
    this.#awaySince = monotonicMs()
    return true
  }

  read(): { status: 'ok' | 'unhealthy'; reason?: string; lastContactMs: number } {
    const lastContactMs = Math.round(monotonicMs() - this.#contactAt)
    if (lastContactMs < unhealthyAfterMs) return { status: 'ok', lastContactMs }
    const seconds = Math.round(lastContactMs / 1000)
    return { status: 'unhealthy', reason: `the database has not answered for ${seconds} s: ${this.#lastError}`, lastContactMs }
  }
}

export function countEach(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
