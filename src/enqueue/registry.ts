import { HoldfastError } from '../errors.js'
import { definedTogether } from '../job/dependency.js'
import { didYouMean } from '../job/nearest.js'
import { refuseUnknown } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'
import type { StartRow } from '../store/rows.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import type { Queryable } from '../store/transaction.js'

/**
 * Registers types in the database, so that SQL, other processes and other languages can enqueue them. A producer's
 * first use of a definition registers it once per process, on a connection of our own: inside the caller's transaction
 * it would hold a lock that other producers wait for. First it checks on the caller's connection whether the type is registered
 * already, because that connection may be the last one of a pool that we share.
 */
export class TypeRegistry {
  readonly #store: Store
  readonly #known = new Map<string, AnyJobType>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The definition this process registered under that name, if it did. */
  definitionOf(name: string): AnyJobType | undefined {
    return this.#known.get(name)
  }

  async register(types: readonly AnyJobType[], options: { update?: boolean }): Promise<void> {
    refuseUnknown(options, ['update'])
    await (options.update === true ? this.update(types) : this.ensure(types))
  }

  async ensure(types: readonly AnyJobType[], tx?: Queryable): Promise<void> {
    const fresh = types.filter((type) => !this.#known.has(type.type))
    if (fresh.length === 0) return
    const missing = await this.#missing(fresh, tx)
    if (missing.length > 0) await this.#registerNew(missing)
    // Not remembered: a rollback of the caller's transaction may undo what it sees.
    if (!tx) for (const type of fresh) this.#known.set(type.type, type)
  }

  /**
   * A worker registers its definitions when it starts. They are the newest, so registered types take their values. Most starts change
   * nothing: then all that is asked beside the types is what the worker has to know, which is the answer.
   */
  async update(types: readonly AnyJobType[]): Promise<StartRow> {
    const dependencies = definedTogether(types)
    await this.#register(types, true)
    try {
      const start = await this.#store.inspect.readStart(types, dependencies)
      if (start.limits) await this.#store.defineLimits(types)
      // Before types use them, so that no job starts in between without the limit.
      if (start.dependencies) await this.#store.operate.defineDependencies(dependencies)
      if (start.uses) await this.#store.defineUses(types)
      return start
    } catch (error) {
      throw explained(error)
    }
  }

  /** A producer may have the right to enqueue but not to register types; then the worker that runs a type registers it. */
  async #registerNew(types: readonly AnyJobType[]): Promise<void> {
    try {
      await this.#register(types, false)
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'permission_denied') throw error
      const names = types.map((type) => type.type).join(', ')
      const message = `${names} is not registered, and this database user may not register it; start a worker that runs it first`
      throw new HoldfastError('permission_denied', message, { field: 'type', cause: error })
    }
  }

  async #missing(types: readonly AnyJobType[], tx: Queryable | undefined): Promise<AnyJobType[]> {
    try {
      const names = [...new Set(types.map((type) => type.type))]
      const registered = new Set((await this.#store.types(names, tx)).map((row) => row.name))
      return types.filter((type) => !registered.has(type.type))
    } catch (error) {
      throw explained(error)
    }
  }

  async #register(types: readonly AnyJobType[], update: boolean): Promise<void> {
    const unique = [...new Map(types.map((type) => [type.type, type])).values()]
    try {
      checkLanes(unique, await this.#store.registerTypes(unique, { update }))
    } catch (error) {
      throw explained(error)
    }
    for (const type of unique) this.#known.set(type.type, type)
    // Otherwise the first death would find no type to enqueue.
    await this.ensure(unique.flatMap(({ reaction }) => reaction ?? []))
  }
}

function checkLanes(types: readonly AnyJobType[], lanes: readonly string[]): void {
  for (const { type, lane } of types) {
    if (lanes.includes(lane)) continue
    const message = `${type} names the lane "${lane}", which does not exist${didYouMean(lane, lanes)}; there are ${lanes.join(', ')}`
    throw new HoldfastError('unknown_lane', message, { field: 'lane' })
  }
}
