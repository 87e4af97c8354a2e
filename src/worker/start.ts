import { hostname } from 'node:os'
import { HoldfastError } from '../errors.js'
import type { Holdfast } from '../holdfast.js'
import type { AnyJobType } from '../job/type.js'
import { readDurability } from '../store/durability.js'
import { explained } from '../store/sqlstate.js'
import { version } from '../version.js'
import { durabilityWarnings } from './durability.js'
import { defaultLogger } from './logger.js'
import { readWorkerOptions, type WorkerOptions } from './options.js'
import { Worker } from './worker.js'

/** Starts a worker for these types. Resolves when it is registered and claiming. */
export async function startWorker(
  holdfast: Holdfast,
  types: readonly AnyJobType[],
  options: WorkerOptions = {},
): Promise<Worker> {
  const settings = readWorkerOptions(options)
  const handlers = handlersByName(types, settings.upkeepOnly)
  try {
    await holdfast.types.update(types)
    const known = await holdfast.store.types([...handlers.keys()])
    const name = settings.name ?? `${hostname()}:${process.pid}`
    const id = await holdfast.store.registerWorker({ name, host: hostname(), pid: process.pid, version })
    const warnings = durabilityWarnings(await readDurability(holdfast.store.database))
    return new Worker(holdfast.store, id, name, handlers, known, settings, options.logger ?? defaultLogger(), warnings)
  } catch (error) {
    throw explained(error)
  }
}

function handlersByName(types: readonly AnyJobType[], mayBeNone: boolean): Map<string, AnyJobType> {
  const handlers = new Map<string, AnyJobType>()
  for (const type of types) {
    if (handlers.has(type.type)) throw new HoldfastError('duplicate_handler', `two handlers were given for ${type.type}`)
    if (!type.run) throw new HoldfastError('missing_handler', `${type.type} has no run function, so no worker can run it`)
    handlers.set(type.type, type)
  }
  if (handlers.size === 0 && !mayBeNone) throw new HoldfastError('missing_handler', 'the worker was given no job types')
  return handlers
}
