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
  traces: Record<string, string> | null
  gated: number[] | null
  rated: number[] | null
  key_limits: Record<string, number> | null
  keys: string[] | null
  scheduled: Record<string, number> | null
  versions: Record<string, number> | null
  waits: string[] | null
  waited: string
}

/** A piece of a text keeps the whole of it in memory. Where that is longer than this, every job gets a text of its own. */
const mostToShare = 262_144

export function claimedRows(columns: ClaimedColumns): ClaimedRow[] {
  const { lease, traces, gated, rated, key_limits: keyLimits, keys, scheduled, versions, waits } = columns
  const [seqs, types, priorities] = [wordsOf(columns.seqs), wordsOf(columns.types), wordsOf(columns.priorities)]
  const [attempts, maxes, created] = [wordsOf(columns.attempts), wordsOf(columns.maxes), wordsOf(columns.created)]
  const waited = wordsOf(columns.waited)
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
    waited: Number(waited[i]),
    payload: payloadOrNull(payloads[i], own),
    trace: traces?.[id] ?? null,
    scheduled: scheduled?.[id] ?? null,
    version: versions?.[id] ?? 1,
    waits: waits?.includes(id) ?? false,
    gated: gated?.includes(Number(types[i])) ?? false,
    rated: rated?.includes(Number(types[i])) ?? false,
    strand: keyLimits ? strandOf(types[i] as string, keys?.[i], keyLimits) : null,
  }))
}

/** Jobs without a key are under no limit of keys. */
function strandOf(type: string, key: string | undefined, limits: Record<string, number>): ClaimedRow['strand'] {
  const most = limits[type]
  return key && most !== undefined ? { key: `${type} ${key}`, most } : null
}

function numberOrNull(text: string | undefined): number | null {
  return text === 'NULL' ? null : Number(text)
}

function payloadOrNull(text: string | undefined, own: boolean): string | null {
  if (!text) return null
  return own ? Buffer.from(text).toString() : text
}
