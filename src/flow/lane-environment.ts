import { Checker } from '../job/checker.js'
import { misconfigured } from '../job/refused.js'
import type { LaneFields } from './lane-fields.js'

const variable = /^HOLDFAST_LANE_([A-Z0-9_]+?)_(SLOTS|WORKER_SLOTS|POLL|LEASE|ENABLED)$/

/**
 * Lanes from the environment, for the first start of an installation: HOLDFAST_LANE_INTERACTIVE_SLOTS=4,
 * HOLDFAST_LANE_BULK_POLL=30s. A worker writes them into the table when it starts; from then on the table counts.
 */
export function lanesFromEnvironment(environment: Record<string, string | undefined>): Map<string, LaneFields> {
  const lanes = new Map<string, LaneFields>()
  const check = new Checker()
  for (const [name, value] of Object.entries(environment)) {
    const [, lane, field] = variable.exec(name) ?? []
    if (lane === undefined || value === undefined) continue
    const key = lane.toLowerCase()
    lanes.set(key, { ...lanes.get(key), ...check.read(() => read(name, field as string, value), {}) })
  }
  check.done('invalid_configuration', 'the lanes of the environment have problems')
  return lanes
}

function read(name: string, field: string, value: string): LaneFields {
  switch (field) {
    case 'SLOTS':
      return { slots: value === 'none' ? null : wholeNumber(name, value) }
    case 'WORKER_SLOTS':
      return { workerSlots: value === 'none' ? null : wholeNumber(name, value) }
    case 'POLL':
      return { poll: value }
    case 'LEASE':
      return { lease: value }
    default:
      if (value === 'true' || value === 'false') return { enabled: value === 'true' }
      throw misconfigured(name, `is ${value}; it must be true or false`)
  }
}

function wholeNumber(name: string, value: string): number {
  if (/^\d+$/.test(value)) return Number(value)
  throw misconfigured(name, `is ${value}; it must be a whole number, or none`)
}
