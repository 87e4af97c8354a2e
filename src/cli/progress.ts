import { monotonicMs } from '../clock.js'
import type { Io } from './io.js'
import { painter } from './paint.js'
import { short } from './screen.js'
import { cutTo } from './table.js'

const barWidth = 24
/** A terminal that is written to more often shows nothing more. */
const everyMs = 100

/**
 * How far a long command has come, on one line that is written over itself, with the time that is left at the speed so far. On standard
 * error and only at a terminal, because standard output is for the answer.
 */
export class Progress {
  readonly #io: Io
  readonly #what: string
  readonly #begun = monotonicMs()
  #drawn = Number.NEGATIVE_INFINITY
  #shown = false

  /** `what`: what is done, such as "replayed". */
  constructor(io: Io, what: string) {
    this.#io = io
    this.#what = what
  }

  /** `total`: undefined where nobody knows it. */
  at(done: number, total?: number): void {
    const { err, env } = this.#io
    const now = monotonicMs()
    if (!err.isTTY || now - this.#drawn < everyMs) return
    this.#drawn = now
    this.#shown = true
    const line = cutTo(progressLine(this.#what, done, total, now - this.#begun), (err.columns ?? 80) - 1)
    err.write(`\r${painter('dim', err, env)(line)}\u001b[K`)
  }

  /** Takes the line away. */
  end(): void {
    if (this.#shown) this.#io.err.write('\r\u001b[K')
    this.#shown = false
  }
}

/** One line: a bar, a share, counts and the time that is left; without a total, how many a second. */
export function progressLine(what: string, done: number, total: number | undefined, elapsedMs: number): string {
  const perSecond = elapsedMs > 0 ? done / (elapsedMs / 1_000) : 0
  if (total === undefined || total <= 0) return `${what} ${done}, ${Math.round(perSecond)} a second`
  const share = Math.min(1, done / total)
  const full = Math.round(share * barWidth)
  const bar = '█'.repeat(full) + '░'.repeat(barWidth - full)
  const left = done > 0 && done < total ? `, ${short((elapsedMs / done) * (total - done))} left` : ''
  return `${bar} ${Math.floor(share * 100)} %  ${what} ${done} of ${total}${left}`
}
