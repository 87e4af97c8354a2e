/** How one duty went. What failed `of` a job or a type was set aside; without it, the fault was of no row. */
export interface DutyRow {
  duty: string
  done: number
  ms: number
  failed: { of?: string; error: string }[]
}
