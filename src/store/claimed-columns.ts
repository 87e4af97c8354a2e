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
  const { lease, gated, traces } = columns
  const [seqs, types, priorities] = [elements(columns.seqs), elements(columns.types), elements(columns.priorities)]
  const [attempts, maxes, created] = [elements(columns.attempts), elements(columns.maxes), elements(columns.created)]
  const payloads = columns.payloads.split('\u001f')
  const own = columns.payloads.length > mostToShare
  return elements(columns.ids).map((id, i) => ({
    lease,
    id,
    seq: seqs[i] as string,
    type: Number(types[i]),
    priority: Number(priorities[i]),
    attempt: Number(attempts[i]),
    max: numberOrNull(maxes[i]),
    created: numberOrNull(created[i]),
    payload: payloadOrNull(payloads[i], own),
    gated: gated?.includes(id) ? true : null,
    trace: traces?.[id] ?? null,
  }))
}

/** Of an array of numbers or ids, as the server writes it: nothing in it is ever quoted. */
function elements(literal: string): string[] {
  return literal.slice(1, -1).split(',')
}

function numberOrNull(text: string | undefined): number | null {
  return text === 'NULL' ? null : Number(text)
}

function payloadOrNull(text: string | undefined, own: boolean): string | null {
  if (!text) return null
  return own ? Buffer.from(text).toString() : text
}
