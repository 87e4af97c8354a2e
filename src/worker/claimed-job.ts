import type { ClaimedJob } from '../job/claimed.js'
import type { AnyJobType } from '../job/type.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { ClaimedRow } from '../store/rows.js'

/** A claimed row as the worker handles it: its payload decrypted, or with the reason why it cannot be. */
export function claimedJob(row: ClaimedRow, type: AnyJobType, lane: number, claimedAtMs: number, privacy: Privacy): ClaimedJob {
  return {
    id: row.id,
    lease: row.lease,
    lane,
    type,
    priority: row.priority,
    attempt: row.attempt,
    maxAttempts: row.max ?? row.attempt,
    createdAtMs: row.created ?? 0,
    traceparent: row.trace,
    gated: row.gated === true,
    claimedAtMs,
    ...readable(row.id, row.payload, type, privacy),
  }
}

function readable(
  id: string,
  stored: string | null,
  { redact }: AnyJobType,
  privacy: Privacy,
): Pick<ClaimedJob, 'payload' | 'unreadable' | 'secrets'> {
  if (stored === null) return { payload: null }
  try {
    const payload = privacy.open(id, stored)
    const secrets = privacy.secrets(payload, redact)
    return secrets ? { payload, secrets } : { payload }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    return { payload: null, unreadable: error.message }
  }
}
