import { notA } from './refused.js'

/** How grave a log line of a handler is. */
export type LogLevel = 'info' | 'warn' | 'error'

/** What a handler reports while it runs. */
export type LogEntry =
  | { kind: 'progress'; fraction: number; note: string | null }
  | { kind: 'line'; level: LogLevel; line: string }

/** A handler that logs in an endless loop must not fill the disk: so many lines of an attempt are kept. */
export const mostLines = 10_000
/** The last of them. */
export const noMoreLines = `this attempt has logged ${mostLines} lines; the rest of them is not kept`

const longestNote = 500
const longestLine = 4_000

/** Checks what was given to `progress`. A wrong number is the handler's mistake and is thrown at it. */
export function progress(fraction: number, note?: string): LogEntry {
  if (!(typeof fraction === 'number' && fraction >= 0 && fraction <= 1)) {
    throw notA('progress', fraction, 'a number from 0 to 1, such as done / total')
  }
  return { kind: 'progress', fraction, note: note === undefined ? null : kept(String(note), longestNote) }
}

export function logLine(text: string, level: LogLevel): LogEntry {
  return { kind: 'line', level, line: kept(String(text), longestLine) }
}

/** As the database can keep it: no U+0000, whole characters, and not without end. */
function kept(text: string, longest: number): string {
  const cut = text.length > longest ? `${text.slice(0, longest - 1)}…` : text
  return cut.replace(/[\0\p{Surrogate}]/gu, '\uFFFD')
}
