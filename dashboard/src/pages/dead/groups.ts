import type { LetterAnswer } from '../../../../src/api/dlq.js'

/** Letters of one type whose errors say the same but for numbers and ids. */
export interface Group {
  readonly type: string
  readonly error: string
  /** A text that stands in the message of each, to ask the server for all of them. */
  readonly common: string
  readonly count: number
  readonly last: string
}

export function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'no error was kept'
  const { name, message } = error as { name?: string; message?: string }
  return [name, message].filter(Boolean).join(': ') || 'no message'
}

const varying = /[0-9a-f]{8}-[0-9a-f-]{27}|\d+(?:[.:]\d+)*/gi

/** The longest piece of a message between what varies. */
function commonPiece(message: string): string {
  const pieces = message.split(varying).map((piece) => piece.trim())
  return pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), '').slice(0, 500)
}

/** The most frequent first. */
export function groupsOf(letters: readonly LetterAnswer[]): Group[] {
  const groups = new Map<string, Group>()
  for (const { type, error, died_at } of letters) {
    const text = errorText(error).replace(varying, '…')
    const key = `${type}\n${text}`
    const before = groups.get(key)
    const message = (error as { message?: string } | null)?.message ?? ''
    const last = before && before.last > died_at ? before.last : died_at
    groups.set(key, { type, error: text, common: before?.common ?? commonPiece(message), count: (before?.count ?? 0) + 1, last })
  }
  return [...groups.values()].sort((one, other) => other.count - one.count)
}
