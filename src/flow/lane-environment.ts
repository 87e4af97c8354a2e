import { HoldfastError } from '../errors.js'
import { Checker } from '../job/checker.js'
import { showValue } from '../job/failure.js'
import { didYouMean } from '../job/nearest.js'
import { misconfigured } from '../job/refused.js'
import { encodeLane, type LaneFields } from './lane-fields.js'

const prefix = 'HOLDFAST_LANE_'
const fields = ['SLOTS', 'WORKER_SLOTS', 'POLL', 'LEASE', 'ENABLED']
const variable = new RegExp(`^${prefix}([A-Z][A-Z0-9_]{0,62}?)_(${fields.join('|')})$`)

/**
 * Lanes from the environment, for the first start of an installation: HOLDFAST_LANE_INTERACTIVE_SLOTS=4,
 * HOLDFAST_LANE_BULK_POLL=30s. The first worker that starts with them writes them into the table; from then on the table counts.
 * A name that begins like one of these and is none is refused, and so is every value that a lane does not take.
 */
export function lanesFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  { unsafe = false } = {},
): Map<string, LaneFields> {
  const lanes = new Map<string, LaneFields>()
  const check = new Checker()
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || value === undefined) continue
    const [, lane, field] = variable.exec(name) ?? []
    if (lane === undefined) {
      const given = fields.find((one) => name.endsWith(`_${one}`)) ?? name.slice(name.lastIndexOf('_') + 1)
      const problem = `is not known${didYouMean(given, fields)}; after the name of a lane comes one of ${fields.join(', ')}`
      check.wrong([name], problem)
      continue
    }
    const key = lane.toLowerCase()
    lanes.set(key, { ...lanes.get(key), ...check.read(() => checked(name, read(name, field as string, value), unsafe), {}) })
  }
  check.done('invalid_configuration', 'the lanes of the environment have problems')
  return lanes
}

/** What the lane would refuse is said of the variable. */
function checked(name: string, lane: LaneFields, unsafe: boolean): LaneFields {
  try {
    encodeLane(lane, { unsafe })
    return lane
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
    throw misconfigured([name], error.issues[0]?.problem ?? error.message)
  }
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
      throw misconfigured([name], `is ${showValue(value)}; it must be true or false`)
  }
}

function wholeNumber(name: string, value: string): number {
  if (/^\d+$/.test(value)) return Number(value)
  throw misconfigured([name], `is ${value}; it must be a whole number, or none`)
}
