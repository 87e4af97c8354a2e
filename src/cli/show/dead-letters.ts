import type { LetterAnswer } from '../../api/dlq.js'
import { ago, type Screen } from '../screen.js'
import { errorText, more } from './jobs.js'

/** How many of the newest dead letters are grouped. */
export const lookedAt = 1_000

const columns = [
  { head: 'ID' },
  { head: 'TYPE', cut: true },
  { head: 'REASON' },
  { head: 'DIED', right: true },
  { head: 'ERROR', cut: true },
]

/** A page of dead letters as a table. */
export function letterTable(
  screen: Screen,
  { letters, next }: { letters: readonly LetterAnswer[]; next: string | null },
): string {
  const rows = letters.map(({ id, type, reason, died_at, error }) => [id, type, reason, ago(died_at), errorText(error)])
  return screen.table(columns, rows, 'There are no such dead letters.') + more(screen, next)
}

/** Dead letters by type and error group, the most first. One without a fingerprint is a group with those that say the same. */
export function letterGroups(screen: Screen, letters: readonly LetterAnswer[]): string {
  const groups = new Map<string, LetterAnswer[]>()
  for (const letter of letters) {
    const { fingerprint = errorText(letter.error) } = (letter.error ?? {}) as { fingerprint?: string }
    const key = `${letter.type}\n${fingerprint}`
    groups.set(key, [...(groups.get(key) ?? []), letter])
  }
  const sorted = [...groups.values()].sort((one, other) => other.length - one.length)
  const rows = sorted.map((group) => {
    const [latest] = group as [LetterAnswer]
    return [String(group.length), latest.type, ago(latest.died_at), errorText(latest.error)]
  })
  const heads = [
    { head: 'COUNT', right: true },
    { head: 'TYPE', cut: true },
    { head: 'LATEST', right: true },
    { head: 'ERROR', cut: true },
  ]
  return screen.table(heads, rows, 'There are no such dead letters.')
}
