import type { WorkerEvent, WorkerEvents } from '../events.js'
import { describeFailure } from '../job/failure.js'
import type { JobHooks } from '../job/hooks.js'
import type { AnyJobType } from '../job/type.js'
import type { Logger } from './logger.js'

const hookOf: Partial<Record<WorkerEvent, keyof JobHooks>> = {
  'job.completed': 'onComplete',
  'job.failed': 'onFailure',
  'job.dead': 'onDead',
}

/** Calls the hooks of the worker and of its types. Nobody waits for them, and what they throw is logged. */
export class Hooks {
  readonly #worker: JobHooks
  readonly #types: ReadonlyMap<string, AnyJobType>
  readonly #log: Logger

  constructor(worker: JobHooks, types: ReadonlyMap<string, AnyJobType>, log: Logger) {
    this.#worker = worker
    this.#types = types
    this.#log = log
  }

  /** Whether any hook is for it: most jobs complete, and most programs have none for that. */
  hear(name: WorkerEvent): boolean {
    const hook = hookOf[name]
    return hook !== undefined && [this.#worker, ...[...this.#types.values()].map((type) => type.hooks)].some((one) => one[hook])
  }

  call<Name extends WorkerEvent>(name: Name, event: WorkerEvents[Name][0]): void {
    const hook = hookOf[name]
    if (hook === undefined) return
    const { type } = event as { type: string }
    for (const hooks of [this.#types.get(type)?.hooks, this.#worker]) {
      if (hooks?.[hook]) void this.#run(hook, type, () => hooks[hook]?.(event as never))
    }
  }

  async #run(hook: string, type: string, call: () => unknown): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.#log.error({ hook, type, error: describeFailure(error).message }, 'a hook threw')
    }
  }
}
