/** A claimed job as the database says it. Times are milliseconds since 1970. */
export interface ClaimedRow {
  lease: string
  id: string
  seq: string
  type: number
  priority: number
  attempt: number
  max: number | null
  created: number | null
  /** For how many milliseconds it had been due when it was claimed. */
  waited: number
  payload: string | null
  trace: string | null
  /** The tick it was made for, where a schedule made it. */
  scheduled: number | null
  /** The version of its payload. */
  version: number
  /** It stands in a sleep or in the wait for a signal. */
  waits: boolean
  /** Its type has a gate: when it ends, another may start. */
  gated: boolean
  /** Its start is counted against a rate. */
  rated: boolean
  /** The key it shares with jobs of which no more than so many may run at once; null where there is no such limit. */
  strand: { key: string; most: number } | null
}
