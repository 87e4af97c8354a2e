import type { WorkerLaneRow } from './rows.js'

/** How one duty went. What failed `of` a job or a type was set aside; without it, the fault was of no row. */
export interface DutyRow {
  duty: string
  done: number
  ms: number
  failed: { of?: string; error: string }[]
}

/** What a look at everything that is due answers with. */
export interface TickRow {
  /** Jobs of the types wait before a gate that may be open. */
  gateOpen: boolean
  promoted: number
  readTo: string | null
  nextInMs: number | null
  /** What the duties say that had something to do; null: none had. */
  duties: DutyRow[] | null
  lanes: WorkerLaneRow[]
  free: boolean | null
  expired: boolean | null
}
