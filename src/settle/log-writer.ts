import type { Background, Monitor } from '../background/background.js'
import { monotonicMs, sleep } from '../clock.js'
import type { ClaimedJob } from '../job/claimed.js'
import { type LogEntry, mostLines, noMoreLines } from '../job/log-entry.js'
import type { LogRow, LogStore } from '../store/log-store.js'

const writeEveryMs = 250
const mostAtOnce = 1_000
/** How many lines are kept through an outage. The oldest are dropped beyond that, and a line says how many. */
const mostKept = 20_000
/** A result waits no longer than this for the lines of its job. */
const patienceMs = 1_000
const pauseMs = { first: 250, most: 5_000 }

interface WaitingRow extends LogRow {
  loggedAtMs: number
}

/**
 * Writes the progress and log lines of running handlers, a few times a second, many at once. Unlike a result, a line is not retried
 * without end: what the database cannot take for long is dropped, and a line says how many were. The lines of a job are written before
 * its result, so that whoever sees the job ended can read all of them; a job that logs nothing costs nothing here.
 */
export class LogWriter implements Background {
  readonly name = 'log writer'
  readonly #store: Pick<LogStore, 'write'>
  readonly #monitor: Monitor
  readonly #lines = new WeakMap<ClaimedJob, number>()
  #waiting: WaitingRow[] = []
  /** The lines that are being written; apart from those that wait, of which the oldest are dropped when there are too many. */
  #underWay: WaitingRow[] = []
  #dropped = 0
  #writing: Promise<void> | undefined
  #sending: Promise<void> | undefined
  #stopped = false

  constructor(store: Pick<LogStore, 'write'>, monitor: Monitor) {
    this.#store = store
    this.#monitor = monitor
  }

  /** The first line that is noted starts the writing. */
  start(): void {}

  note(job: ClaimedJob, entry: LogEntry): void {
    if (entry.kind === 'line' && !this.#mayLog(job, entry)) return
    const [fraction, note] = entry.kind === 'progress' ? [entry.fraction, entry.note] : [null, null]
    const [line, level] = entry.kind === 'line' ? [entry.line, entry.level] : [null, null]
    this.#waiting.push({ jobId: job.id, attempt: job.attempt, fraction, note, line, level, loggedAtMs: monotonicMs() })
    if (this.#kept > mostKept) {
      this.#waiting.shift()
      this.#dropped += 1
    }
    if (!this.#stopped) this.#writing ??= this.#write()
  }

  /** Resolves when the lines of these jobs are written, or cannot be for now; undefined: they have none. */
  flush(ended: readonly { job: ClaimedJob }[]): Promise<void> | undefined {
    if (this.#kept === 0) return undefined
    const ids = new Set(ended.map(({ job }) => job.id))
    const isOfThem = ({ jobId }: WaitingRow) => ids.has(jobId)
    if (!this.#underWay.some(isOfThem) && !this.#waiting.some(isOfThem)) return undefined
    const waited = new AbortController()
    // A failure is told, and the lines are tried again, by the loop in #write.
    const written = this.#writeAll().catch(() => {})
    return Promise.race([written, sleep(patienceMs, { signal: waited.signal })]).finally(() => waited.abort())
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopped = true
    await Promise.race([this.#writing ?? this.#writeAll(), sleep(withinMs, { unref: true })])
    if (this.#kept > 0) throw new Error(`the database is away; ${this.#kept} progress and log lines are lost`)
  }

  get #kept(): number {
    return this.#underWay.length + this.#waiting.length
  }

  #mayLog(job: ClaimedJob, entry: LogEntry & { kind: 'line' }): boolean {
    const lines = (this.#lines.get(job) ?? 0) + 1
    this.#lines.set(job, lines)
    if (lines === mostLines) entry.line = noMoreLines
    return lines <= mostLines
  }

  async #write(): Promise<void> {
    let pause = pauseMs.first
    do {
      if (!this.#stopped) await sleep(writeEveryMs, { unref: true })
      try {
        await this.#writeAll()
        this.#monitor.answered(this.name)
        pause = pauseMs.first
      } catch (error) {
        this.#monitor.failed(this.name, error)
        if (this.#stopped) break
        await sleep(pause, { unref: true })
        pause = Math.min(pause * 2, pauseMs.most)
      }
    } while (this.#kept > 0)
    this.#writing = undefined
  }

  /** One write at a time, because two would write the same lines. */
  #writeAll(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const rows = this.#waiting.splice(0, mostAtOnce)
      this.#underWay = rows
      const now = monotonicMs()
      try {
        await this.#store.write(rows.map(({ loggedAtMs, ...row }) => ({ ...row, agoMs: now - loggedAtMs })))
      } catch (error) {
        this.#waiting.unshift(...rows)
        throw error
      } finally {
        this.#underWay = []
      }
      this.#tellDropped(rows.at(-1) as WaitingRow)
    }
  }

  #tellDropped({ jobId, attempt }: WaitingRow): void {
    if (this.#dropped === 0) return
    const line = `${this.#dropped} lines of this worker's jobs were lost while the database was away`
    this.#dropped = 0
    this.#waiting.push({ jobId, attempt, fraction: null, note: null, line, level: 'warn', loggedAtMs: monotonicMs() })
  }
}
