import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * One line of the ledger. Lines stand in the order in which things happened, across all processes: every writer appends
 * with one write, a start before the handler does anything and a finish after it has done everything.
 */
export type Entry =
  | { kind: 'acknowledged' | 'rolled_back'; job: string }
  | Execution
  | { kind: 'aborted'; job: string; attempt: number; fence: string; pid: number; reason: string }
  | { kind: 'killed'; pid: number }

/** A handler began, came to its end, or threw. One that was killed did neither. */
export interface Execution {
  kind: 'start' | 'finish' | 'threw'
  job: string
  attempt: number
  fence: string
  pid: number
  type: string
  /** What its payload names as its key. */
  key?: string
  /** Milliseconds, by the clock of the machine. */
  at: number
}

/** What happened, kept in a file outside of the database under test: the database cannot be its own witness. */
export interface Ledger {
  readonly path: string
  /** A path beside the ledger, for files that tell a handler to go on. */
  beside(name: string): string
  /** Makes such a file. */
  open(name: string): void
  note(entry: Entry): void
  /** How long it is by now: a sign of progress that costs nothing to read. */
  bytes(): number
  entries(): Entry[]
  starts(job?: string): Execution[]
  finishes(job?: string): Execution[]
}

export function openLedger(): Ledger {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-ledger-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'ledger.jsonl')
  writeFileSync(path, '')
  const entries = (): Entry[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      // A line without its end is still being written.
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const runs = (kind: 'start' | 'finish', job: string | undefined) =>
    entries().filter((entry): entry is Execution => {
      return entry.kind === kind && (job === undefined || entry.job === job)
    })
  return {
    path,
    beside: (name) => join(directory, name),
    open: (name) => writeFileSync(join(directory, name), ''),
    note: (entry) => appendFileSync(path, `${JSON.stringify(entry)}\n`),
    bytes: () => statSync(path).size,
    entries,
    starts: (job) => runs('start', job),
    finishes: (job) => runs('finish', job),
  }
}
