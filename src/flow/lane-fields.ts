import { type Duration, toMilliseconds } from '../job/duration.js'
import { refused, refuseUnknown, refuseUnknownNames } from '../job/refused.js'

/** The settings of a lane. A change leaves those that it does not name as they are; defaults are those of a new lane. */
export interface LaneFields {
  /**
   * Most jobs running at once in the whole fleet; null: no limit.
   * @range 1 to 10,000
   * @default null
   */
  slots?: number | null
  /**
   * Most jobs running at once in one worker; null: as many as it has slots.
   * @range 1 to 10,000
   * @default null
   */
  workerSlots?: number | null
  /**
   * The longest time between two polls of the lane.
   * @range 10 ms to 10 minutes
   * @default '2s'
   */
  poll?: Duration
  /**
   * A job in it whose worker goes silent is free again after this. Null: what each worker was started with.
   * @range 60 s to 1 h; with `unsafe` 100 ms to 1 day
   * @default null
   */
  lease?: Duration | null
  /**
   * False: workers claim nothing from it.
   * @default true
   */
  enabled?: boolean
  /**
   * How long a job waits until it counts as one priority higher.
   * @range 1 ms to 30 days
   * @default '1m'
   */
  ageing?: Duration
}

const stored = {
  slots: 'slots',
  workerSlots: 'worker_slots',
  poll: 'poll_ms',
  lease: 'lease_ms',
  enabled: 'enabled',
  ageing: 'ageing_ms',
} as const satisfies Record<keyof LaneFields, string>
const names = Object.keys(stored)

/** How these fields are stored; null: all. */
export function storedLaneFields(fields: readonly (keyof LaneFields)[] | undefined): string[] | null {
  refuseUnknownNames(fields, names)
  return fields?.map((one) => stored[one]) ?? null
}

/** Checks the fields of a lane, and brings them into the form the database takes. */
export function encodeLane(lane: LaneFields, { unsafe }: { unsafe: boolean }): string {
  refuseUnknown(lane, names)
  const fields: Record<string, unknown> = {}
  const slots = (value: unknown, field: string): number | null => {
    if (value === null) return null
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 10_000) return value
    throw refused(field, `is ${String(value)}; it must be a whole number from 1 to 10000. To stop a lane, drain it`)
  }
  const span = (value: Duration, field: string, low: number, high: number, range: string): number => {
    const ms = Math.round(toMilliseconds(value, field))
    if (ms >= low && ms <= high) return ms
    throw refused(field, `is ${String(value)}; it must lie between ${range}`)
  }
  if (lane.slots !== undefined) fields.slots = slots(lane.slots, 'slots')
  if (lane.workerSlots !== undefined) fields.worker_slots = slots(lane.workerSlots, 'workerSlots')
  if (lane.poll !== undefined) fields.poll_ms = span(lane.poll, 'poll', 10, 600_000, '10ms and 10m')
  if (lane.ageing !== undefined) fields.ageing_ms = span(lane.ageing, 'ageing', 1, 30 * 86_400_000, '1ms and 30d')
  if (lane.enabled !== undefined) fields.enabled = lane.enabled
  if (lane.lease === null) fields.lease_ms = null
  else if (lane.lease !== undefined) {
    const [low, high] = unsafe ? [100, 86_400_000] : [60_000, 3_600_000]
    const range = unsafe ? '100ms and 1 day' : '60s and 1h; say unsafe if another value is meant'
    fields.lease_ms = span(lane.lease, 'lease', low, high, range)
  }
  return JSON.stringify(fields)
}
