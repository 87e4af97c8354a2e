import type { TypeRegistry } from '../enqueue/registry.js'
import { issueOf, refusal } from '../job/refused.js'
import { told } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import type { Queryable } from '../store/transaction.js'
import type { AnyWorkflow } from './typed.js'

/**
 * Registers workflows in the database, and the types of their tasks, once per process and on a connection of our own: in the caller's
 * transaction it would hold a lock that others wait for. First it looks on the caller's connection, which may be the last of a shared pool.
 */
export class WorkflowRegistry {
  readonly #store: Store
  readonly #types: TypeRegistry
  readonly #known = new Map<string, AnyWorkflow>()

  constructor(store: Store, types: TypeRegistry) {
    this.#store = store
    this.#types = types
  }

  async ensure(workflow: AnyWorkflow, tx?: Queryable): Promise<void> {
    const key = keyOf(workflow.name, workflow.hash)
    if (this.#known.has(key)) return
    for (const sub of workflow.subWorkflows) await this.ensure(sub, tx)
    await this.#types.ensure(workflow.usedTypes, tx)
    const { executions } = this.#store
    if (!(await told(executions.isRegistered(workflow.name, workflow.hash, tx)))) {
      const problems = await told(executions.register(workflow.name, workflow.hash, JSON.stringify(workflow.graph)))
      const issues = problems.map(({ task, field, problem }) => issueOf(['tasks', task, field], problem))
      if (issues.length > 0) throw refusal('invalid_option', issues, `the workflow ${workflow.name} has problems`)
    }
    // What a transaction of the caller's sees may be undone, but what is registered stays so.
    if (!tx) this.#known.set(key, workflow)
  }

  /** The definition of a graph, where this process has registered it. */
  definitionOf(name: string, hash: string): AnyWorkflow | undefined {
    return this.#known.get(keyOf(name, hash))
  }
}

function keyOf(name: string, hash: string): string {
  return `${name} ${hash}`
}
