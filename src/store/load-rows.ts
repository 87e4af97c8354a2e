/** How much there is to do, and who does it. Numbers of milliseconds, and counts. */
export interface TypeDepthRow {
  type: string
  lane: string
  waiting: number
  scheduled: number
  blocked: number
  running: number
  oldest: number | null
}

/** How busy a lane is. */
export interface LaneLoadRow {
  lane: string
  enabled: boolean
  /** How many jobs of it may run at once in all; null: as many as workers take. */
  slots: number | null
  /** Jobs that are due, of types that nothing holds back. */
  waiting: number
  running: number
  /** Attempts that ended in a second, in the last minute. */
  ended: number
  /** Workers of its types that were heard of within three minutes. */
  live: number
}
