import { payloadSeparator, wordsOf } from './array-literal.js'
import type { ClaimedRow } from './rows.js'

/** The jobs of one claim as the database answers them: a list a column. */
export interface ClaimedColumns {
  lease: string
  ids: string
  seqs: string
  types: string
  priorities: string
  attempts: string
  maxes: string
  created: string
  payloads: string
  gated: string[] | null
  traces: Record<string, string> | null
}

/** A piece of a text keeps the whole of it in memory. Where that is longer than this, every job gets a text of its own. */
const mostToShare = 262_144

export function claimedRows(columns: ClaimedColumns): ClaimedRow[] {
  const { lease, traces } = columns
  const passed = new Set(columns.gated)
  const [seqs, types, priorities] = [wordsOf(columns.seqs), wordsOf(columns.types), wordsOf(columns.priorities)]
  const [attempts, maxes, created] = [wordsOf(columns.attempts), wordsOf(columns.maxes), wordsOf(columns.created)]
  const payloads = columns.payloads.split(payloadSeparator)
  const own = columns.payloads.length > mostToShare
  return wordsOf(columns.ids).map((id, i) => ({
    lease,
    id,
    seq: seqs[i] as string,
    type: Number(types[i]),
    priority: Number(priorities[i]),
    attempt: Number(attempts[i]),
    max: numberOrNull(maxes[i]),
    created: numberOrNull(created[i]),
    payload: payloadOrNull(payloads[i], own),
    gated: passed.has(id) ? true : null,
    trace: traces?.[id] ?? null,
  }))
}

function numberOrNull(text: string | undefined): number | null {
  return text === 'NULL' ? null : Number(text)
}

function payloadOrNull(text: string | undefined, own: boolean): string | null {
  if (!text) return null
  return own ? Buffer.from(text).toString() : text
}
