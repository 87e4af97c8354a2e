import { monotonicMs } from '../clock.js'

/** Whether a worker works, what it does now, and what it warns of. */
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
  /** Settings of the server, as they were at the start, under which it may lose what it acknowledged; a schema that is newer than this
   * version; and each background part that fails without stopping the jobs: upkeep, log lines, a part that did not stop in time. */
  warnings?: readonly string[]
}

/** What a worker needs the database for. It works only as long as each of them is answered. */
export type Need = 'claims' | 'heartbeats' | 'results' | 'duties'

export function isNeed(what: string): what is Need {
  return what in missing
}

/** What has not happened while a need goes unanswered. */
const missing: Record<Need, (other: string) => string> = {
  claims: (other) => `${other} has taken no claims`,
  heartbeats: (other) => `${other} has taken no heartbeats`,
  results: (other) => `${other} has taken no results`,
  duties: () => 'nothing that is due has been promoted',
}

/**
 * Whether the worker truly works. Each need is watched by itself, because heartbeats may get through while claims do not. A worker is
 * unhealthy when the database has left a need unanswered for too long; an idle worker asks for nothing and is healthy.
 */
export class Pulse {
  readonly #unhealthyAfterMs: number
  readonly #other: string
  readonly #unansweredSince = new Map<Need, number>()
  readonly #errors = new Map<Need, string>()
  /** What else fails. The jobs run without it, so the worker stays healthy and warns: ending its process would help nobody. */
  readonly #failing = new Map<string, { sinceMs: number; error: string }>()
  /** Needs that fail because the database is away, and not because it says no. */
  readonly #away = new Set<Need>()
  #contactAt = monotonicMs()
  #awaySince: number | undefined

  /** `other`: whom the worker asks. */
  constructor(unhealthyAfterMs: number, other = 'the database') {
    this.#other = other
    this.#unhealthyAfterMs = unhealthyAfterMs
  }

  asking(need: Need): void {
    if (!this.#unansweredSince.has(need)) this.#unansweredSince.set(need, monotonicMs())
  }

  /** Says how long the database was away when this answer ends the last trouble. */
  answered(need: Need): { awayMs: number } | undefined {
    this.#contactAt = monotonicMs()
    this.#unansweredSince.delete(need)
    this.#errors.delete(need)
    this.#away.delete(need)
    if (this.#awaySince === undefined || this.#away.size > 0) return undefined
    const awayMs = Math.round(this.#contactAt - this.#awaySince)
    this.#awaySince = undefined
    return { awayMs }
  }

  /** The database answered, and refused. */
  refused(need: Need, error: string): void {
    this.asking(need)
    this.#errors.set(need, error)
    this.#away.delete(need)
  }

  /** The database did not answer. True when this is the first sign of it since all was well. */
  unanswered(need: Need, error: string): boolean {
    this.asking(need)
    this.#errors.set(need, error)
    this.#away.add(need)
    if (this.#awaySince !== undefined) return false
    this.#awaySince = monotonicMs()
    return true
  }

  /** Something beside the needs failed: a chore, the log, a part that did not stop. */
  failing(what: string, error: string): void {
    this.#failing.set(what, { sinceMs: this.#failing.get(what)?.sinceMs ?? monotonicMs(), error })
  }

  recovered(what: string): void {
    this.#failing.delete(what)
  }

  /** `failing` has a sentence for each failure that the worker can live with. */
  read(): { status: 'ok' | 'unhealthy'; reason?: string; lastContactMs: number; failing: string[] } {
    const now = monotonicMs()
    const failing = [...this.#failing].map(
      ([what, { sinceMs, error }]) => `the ${what} has failed for ${Math.round((now - sinceMs) / 1000)} s: ${error}`,
    )
    const lastContactMs = Math.round(now - this.#contactAt)
    for (const [need, since] of this.#unansweredSince) {
      if (now - since < this.#unhealthyAfterMs) continue
      const seconds = Math.round((now - since) / 1000)
      const why = this.#errors.get(need) ?? 'it says nothing'
      return { status: 'unhealthy', reason: `${missing[need](this.#other)} for ${seconds} s: ${why}`, lastContactMs, failing }
    }
    return { status: 'ok', lastContactMs, failing }
  }
}

export function countEach(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
