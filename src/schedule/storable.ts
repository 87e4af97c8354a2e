import type { TypeRegistry } from '../enqueue/registry.js'
import { checkAgainstSchema } from '../job/check-payload.js'
import { newJobId } from '../job/id.js'
import { refused } from '../job/refused.js'
import type { Privacy } from '../privacy/privacy.js'
import { told } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import type { Schedule } from './spec.js'

/**
 * Registers the type of a schedule where it was given, and refuses a payload that no job of it could have. What is wrong is said to whoever
 * defines the schedule and not at its first tick, in the night.
 */
export async function readyToStore(schedule: Schedule, store: Store, types: TypeRegistry, privacy: Privacy): Promise<void> {
  const { name, spec } = schedule
  if (schedule.type) await types.ensure([schedule.type])
  const definition = schedule.type ?? types.definitionOf(spec.type)
  if (definition?.schema) await checkAgainstSchema(definition, schedule.payload)
  if (!definition) await told(store.operate.refuseUnfit(newJobId(), spec.type, spec.payload))
  const encrypted = definition?.encrypt ?? (await told(store.types([spec.type])))[0]?.encrypted
  if (!privacy.encrypts(encrypted)) return
  // One text for all jobs cannot be encrypted for each of them, and in the schedule it would stand in plain.
  if (spec.payload !== '{}')
    throw refused('payload', `of the schedule ${name} must be {}, because the payloads of ${spec.type} are stored encrypted`)
  if (spec.overlap === 'queue')
    throw refused(
      'overlap',
      `of the schedule ${name} cannot be "queue", because the payloads of ${spec.type} are stored encrypted; use "skip"`,
    )
}
