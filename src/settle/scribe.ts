import { monotonicMs, sleep } from '../clock.js'
import type { ClaimedJob } from '../job/claimed.js'
import { mostLines, noMoreLines, type Saying } from '../job/saying.js'
import type { SaidRow, SayingsStore } from '../store/sayings-store.js'

const writeEveryMs = 250
const mostAtOnce = 1_000
/** What is kept here through an outage. Beyond that lines are lost, and a line says how many. */
const mostKept = 20_000
/** A result waits for its lines no longer than this. */
const patienceMs = 1_000
const pauseMs = { first: 250, most: 5_000 }

interface Said extends SaidRow {
  saidAtMs: number
}

/**
 * Writes what handlers say while they run: progress and log lines, a few times a second, many at once. Unlike a result it
 * is worth no retry without end: what the database cannot take for long is dropped, and that is said. What a job has said is
 * written before its result, so that whoever sees it ended can read all of it; a job that says nothing costs nothing here.
 */
export class Scribe {
  readonly #store: SayingsStore
  readonly #onTrouble: (error: unknown) => void
  readonly #lines = new WeakMap<ClaimedJob, number>()
  #waiting: Said[] = []
  /** What a write has on its way; apart from what waits, because that loses its oldest lines when there are too many. */
  #underWay: Said[] = []
  #dropped = 0
  #writing: Promise<void> | undefined
  #sending: Promise<void> | undefined
  #stopped = false

  constructor(store: SayingsStore, onTrouble: (error: unknown) => void) {
    this.#store = store
    this.#onTrouble = onTrouble
  }

  note(job: ClaimedJob, saying: Saying): void {
    if (saying.kind === 'line' && !this.#mayLog(job, saying)) return
    const [fraction, note] = saying.kind === 'progress' ? [saying.fraction, saying.note] : [null, null]
    const [line, level] = saying.kind === 'line' ? [saying.line, saying.level] : [null, null]
    this.#waiting.push({ jobId: job.id, attempt: job.attempt, fraction, note, line, level, saidAtMs: monotonicMs() })
    if (this.#kept > mostKept) {
      this.#waiting.shift()
      this.#dropped += 1
    }
    if (!this.#stopped) this.#writing ??= this.#write()
  }

  /** Resolves when what these jobs have said is written, or cannot be for now; undefined: they have said nothing. */
  flush(ended: readonly { job: ClaimedJob }[]): Promise<void> | undefined {
    if (this.#kept === 0) return undefined
    const ids = new Set(ended.map(({ job }) => job.id))
    const isOfThem = ({ jobId }: Said) => ids.has(jobId)
    if (!this.#underWay.some(isOfThem) && !this.#waiting.some(isOfThem)) return undefined
    const waited = new AbortController()
    // What fails here is tried again, and told, by the one who writes from time to time.
    const written = this.#writeAll().catch(() => {})
    return Promise.race([written, sleep(patienceMs, { signal: waited.signal })]).finally(() => waited.abort())
  }

  /** Resolves when everything that was said is written, or after that time. */
  async stop(withinMs: number): Promise<void> {
    this.#stopped = true
    await Promise.race([this.#writing ?? this.#writeAll(), sleep(withinMs, { unref: true })])
  }

  get #kept(): number {
    return this.#underWay.length + this.#waiting.length
  }

  #mayLog(job: ClaimedJob, saying: Saying & { kind: 'line' }): boolean {
    const lines = (this.#lines.get(job) ?? 0) + 1
    this.#lines.set(job, lines)
    if (lines === mostLines) saying.line = noMoreLines
    return lines <= mostLines
  }

  async #write(): Promise<void> {
    let pause = pauseMs.first
    do {
      if (!this.#stopped) await sleep(writeEveryMs, { unref: true })
      try {
        await this.#writeAll()
        pause = pauseMs.first
      } catch (error) {
        this.#onTrouble(error)
        if (this.#stopped) break
        await sleep(pause, { unref: true })
        pause = Math.min(pause * 2, pauseMs.most)
      }
    } while (this.#kept > 0)
    this.#writing = undefined
  }

  /** One at a time: two would write the same lines. */
  #writeAll(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, mostAtOnce)
      this.#underWay = batch
      const now = monotonicMs()
      try {
        await this.#store.note(batch.map(({ saidAtMs, ...said }) => ({ ...said, agoMs: now - saidAtMs })))
      } catch (error) {
        this.#waiting.unshift(...batch)
        throw error
      } finally {
        this.#underWay = []
      }
      this.#tellDropped(batch.at(-1) as Said)
    }
  }

  #tellDropped({ jobId, attempt }: Said): void {
    if (this.#dropped === 0) return
    const line = `${this.#dropped} lines of this worker's jobs were lost while the database was away`
    this.#dropped = 0
    this.#waiting.push({ jobId, attempt, fraction: null, note: null, line, level: 'warn', saidAtMs: monotonicMs() })
  }
}
