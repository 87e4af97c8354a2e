import type { Crash } from './crash.js'
import type { Secrets } from './secrets.js'
import type { AnyJobType } from './type.js'

/** A job in this worker's hands: claimed, under a lease. */
export interface ClaimedJob {
  readonly id: string
  readonly lease: string
  readonly type: AnyJobType
  readonly lane: number
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly createdAtMs: number
  readonly payload: string | null
  /** Why the payload cannot be read, where it is encrypted and this process cannot decrypt it. */
  readonly unreadable?: string
  /** What must not be in errors and log lines; left out where there is nothing. */
  readonly secrets?: Secrets
  /** The span its attempts belong under, as a W3C traceparent; none where nobody traces. */
  readonly traceparent?: string | null
  /** The tick it was made for; none where no schedule made it. */
  readonly scheduledForMs?: number | null
  /** The version of its payload; 1 where it is left out. */
  readonly version?: number
  /** An earlier attempt ended in a sleep or in the wait for a signal, which this one has to come to again. */
  readonly waits?: boolean
  /** Its type has a gate: when it ends, another may start. */
  readonly gated?: boolean
  /** Its start is counted against a rate, and has to come soon. */
  readonly rated?: boolean
  /** Of the jobs with this key no more than so many may run at once; none where there is no such limit. */
  readonly strand?: { readonly key: string; readonly most: number } | null
  readonly claimedAtMs: number
  /** How long it had been due by then; left out where the server that claimed it counts that. */
  readonly waitedMs?: number
  /** Every time a host died under it; left out where none did. */
  readonly crashes?: readonly Crash[]
}
