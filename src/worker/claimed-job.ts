import type { ClaimedJob } from '../job/claimed.js'
import type { AnyJobType } from '../job/type.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { ClaimedRow } from '../store/rows.js'

/** A claimed row as the worker handles it: its payload decrypted, or with the reason why it cannot be. */
export function claimedJob(row: ClaimedRow, type: AnyJobType, lane: number, claimedAtMs: number, privacy: Privacy): ClaimedJob {
  const job: ClaimedJob = {
    id: row.id,
    lease: row.lease,
    lane,
    type,
    priority: row.priority,
    attempt: row.attempt,
    maxAttempts: row.max ?? row.attempt,
    createdAtMs: row.created ?? 0,
    payload: row.payload,
    traceparent: row.trace,
    scheduledForMs: row.scheduled,
    version: row.version,
    waits: row.waits,
    gated: row.gated,
    rated: row.rated,
    strand: row.strand,
    claimedAtMs,
    waitedMs: row.waited,
  }
  // Most payloads are neither encrypted nor redacted, and copying each job would cost throughput.
  return row.payload !== null && privacy.concerns(row.payload, type.redact)
    ? { ...job, ...readable(row.id, row.payload, type, privacy) }
    : job
}

function readable(
  id: string,
  stored: string,
  { type, encrypt, redact }: AnyJobType,
  privacy: Privacy,
): Pick<ClaimedJob, 'payload' | 'unreadable' | 'secrets'> {
  try {
    const payload = privacy.decrypt(id, stored, 'payload', { type, encrypted: encrypt })
    const secrets = privacy.secrets(payload, redact)
    return secrets ? { payload, secrets } : { payload }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    return { payload: null, unreadable: error.message }
  }
}
