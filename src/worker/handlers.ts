import { fileURLToPath } from 'node:url'
import { HoldfastError } from '../errors.js'
import { type AnyJobType, underEveryName } from '../job/type.js'
import { isWorkflow } from '../job/workflow-mark.js'
import { checkModule } from '../run/isolate/check-module.js'
import { loadModule, moduleUrl } from '../run/isolate/load-types.js'
import { insideHost } from '../run/isolate/serve.js'
import type { Schedule } from '../schedule/spec.js'
import type { AnyWorkflow } from '../workflow/typed.js'
import type { WorkerSettings } from './options.js'

export interface Handlers {
  handlers: ReadonlyMap<string, AnyJobType>
  /** The file they are in, where it is known. */
  module: string | null
  /** What it registers beside its types, so that it can be started by name. */
  workflows: readonly AnyWorkflow[]
  /** The schedules that a file exports beside its types; none from a list. */
  schedules: readonly Schedule[]
  /** What a file says that its code is called. */
  build?: string
}

/** The handlers a worker is to run, from a list or a file. Everything wrong with them is found here, before it starts. */
export async function collectHandlers(
  source: readonly (AnyJobType | AnyWorkflow)[] | URL | string,
  { module, upkeepOnly, alerts }: Pick<WorkerSettings, 'module' | 'upkeepOnly' | 'alerts'>,
): Promise<Handlers> {
  if (insideHost()) {
    const message =
      'a worker was started inside of a thread or process that runs handlers: the file with the handlers must not start a worker when it is imported; move them to a file of their own'
    throw new HoldfastError('invalid_module', message, { field: 'module' })
  }
  if (typeof source === 'string' || source instanceof URL) {
    const file = moduleUrl(source)
    const { types, workflows, schedules, ...named } = await loadModule(file)
    const handlers = byName(types, ` in ${fileURLToPath(file)}`, false)
    return { handlers, module: file, workflows: workflows as AnyWorkflow[], schedules: schedules as Schedule[], ...named }
  }
  const workflows = source.filter(isWorkflow) as AnyWorkflow[]
  const types = source.filter((one): one is AnyJobType => !isWorkflow(one))
  const brought = new Set(workflows.flatMap((workflow) => workflow.types))
  const handlers = byName([...types.filter((type) => !brought.has(type)), ...brought], '', upkeepOnly || alerts)
  const isolated = [...handlers.values()].filter((type) => type.isolation.kind !== 'inline')
  if (isolated.length === 0) return { handlers, module, workflows, schedules: [] }
  const names = isolated.map((type) => type.type)
  if (module === null) {
    const message = `${names.join(', ')} cannot run in a thread or process without the file the handlers are in: startWorker(holdfast, types, { module: import.meta.url of that file }) or startWorker(holdfast, './handlers.js')`
    throw new HoldfastError('invalid_configuration', message, { field: 'module' })
  }
  await checkModule(module, names)
  return { handlers, module, workflows, schedules: [] }
}

function byName(types: readonly AnyJobType[], where: string, mayBeNone: boolean): Map<string, AnyJobType> {
  const handlers = new Map<string, AnyJobType>()
  const today = new Map<string, string>()
  for (const type of types) {
    if (!type.run) throw new HoldfastError('missing_handler', `${type.type} has no run function${where}, so no worker can run it`)
    for (const named of underEveryName(type)) {
      const other = today.get(named.type)
      if (other !== undefined) throw new HoldfastError('duplicate_handler', `${twice(named.type, type.type, other)}${where}`)
      handlers.set(named.type, named)
      today.set(named.type, type.type)
    }
  }
  if (handlers.size === 0 && !mayBeNone) throw new HoldfastError('missing_handler', 'the worker was given no job types')
  return handlers
}

function twice(name: string, one: string, other: string): string {
  if (one === other) return `two handlers were given for ${name}`
  const type = [one, other].find((each) => each === name)
  const alias = [one, other].find((each) => each !== name)
  if (type === undefined) return `${name} is an alias of both ${other} and ${one}; a job of that name has one handler`
  return `${name} is an alias of ${alias} and a type of its own; a job of that name has one handler`
}
