import { wallMs } from '../clock.js'
import type { Io } from './io.js'
import { type Paint, painter, type Style } from './paint.js'
import { type Column, table } from './table.js'

/** How a command shows things: colours and cut lines at a terminal, plain text elsewhere. */
export class Screen {
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly yellow: Paint
  readonly green: Paint
  readonly #io: Io

  constructor(io: Io) {
    this.#io = io
    const paint = (style: Style) => painter(style, io.out, io.env)
    this.bold = paint('bold')
    this.dim = paint('dim')
    this.red = paint('red')
    this.yellow = paint('yellow')
    this.green = paint('green')
  }

  /** How much fits into a line; undefined: no terminal cuts it. */
  get width(): number | undefined {
    return this.#io.out.isTTY ? (this.#io.out.columns ?? 80) : undefined
  }

  print(text = ''): void {
    this.#io.out.write(`${text}\n`)
  }

  /** Rows under heads; `none` where there are no rows. */
  table(columns: readonly Column[], rows: readonly (readonly string[])[], none: string): string {
    if (rows.length === 0) return none
    const [head = '', ...lines] = table(columns, rows, this.width)
    return [this.dim(head), ...lines].join('\n')
  }
}

/** How long ago that was, in one unit: 5s, 12m, 3h, 9d. Of a time to come: in 5s. */
export function ago(time: string | null): string {
  if (time === null) return ''
  const ms = wallMs() - Date.parse(time)
  return ms < -500 ? `in ${short(-ms)}` : short(Math.max(0, ms))
}

/** A duration in its largest unit, for tables. */
export function short(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 120) return `${minutes}m`
  const hours = Math.round(minutes / 60)
  return hours < 72 ? `${hours}h` : `${Math.round(hours / 24)}d`
}

/** A status or a kind as people say it. */
export function words(name: string): string {
  return name.replaceAll('_', ' ')
}
