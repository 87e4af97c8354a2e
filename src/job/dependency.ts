import { type DependencyLimits, encodeDependencyLimits } from './limits.js'
import { refused, refuseUnknown } from './refused.js'

/** What `defineDependency` takes and returns: something that handlers of several types call, and must not overload together. */
export interface Dependency {
  /**
   * The name that types use, such as `stripe`.
   * @range 1 to 200 letters, digits or _ - . : /
   */
  readonly name: string
  /**
   * What may call it at once and how fast, of all types that use it together. Set when a worker starts with a definition that changed;
   * operators may change it after.
   * @default none
   */
  readonly limits?: DependencyLimits
}

/** A dependency whose limits stand in code, encoded for the database; undefined: the code wants none. */
export interface DefinedDependency {
  readonly name: string
  readonly limits: string | undefined
}

/**
 * Defines what several types use, with the limits that they share. Every problem is found here, when the program starts.
 * @example
 * import { defineDependency, defineType } from 'holdfast'
 *
 * const stripe = defineDependency({ name: 'stripe', limits: { maxRunning: 10, rate: { count: 100, per: '1s' } } })
 * export const charge = defineType({ type: 'charge', uses: [stripe] })
 * export const refund = defineType({ type: 'refund', uses: [stripe, 'ledger'] })
 */
export function defineDependency(definition: Dependency): Dependency {
  encoded(definition, 'name')
  return Object.freeze({ ...definition })
}

/** What a type uses: the names, each once and in order, so that the order in a definition changes nothing; and those with limits in code. */
export function readUses(uses: unknown, type: string): { uses: readonly string[]; dependencies: readonly DefinedDependency[] } {
  if (uses === undefined) return noUses
  if (!Array.isArray(uses) || uses.length > 20)
    throw refused('uses', `of ${type} must be a list of at most 20 names or dependencies`)
  const dependencies = uses.flatMap((one, at) => (isObject(one) ? [encoded(one as Dependency, `uses[${at}].name`)] : []))
  const names = uses.map((one, at) => (isObject(one) ? one.name : checkDependency(one, `uses[${at}]`)))
  return { uses: Object.freeze([...new Set(names)].sort()), dependencies: Object.freeze(dependencies) }
}

export const noUses = { uses: [], dependencies: [] } as const

/** Those that these types define, each once. Two definitions of one name that differ are refused: neither could be meant. */
export function definedTogether(
  types: readonly { type: string; dependencies: readonly DefinedDependency[] }[],
): DefinedDependency[] {
  const found = new Map<string, DefinedDependency & { type: string }>()
  for (const { type, dependencies } of types) {
    for (const { name, limits } of dependencies) {
      const other = found.get(name)
      if (other && other.limits !== limits) {
        throw refused('uses', `of ${type} and of ${other.type} have definitions of ${name} that differ; define it once, for both`)
      }
      found.set(name, { name, limits, type })
    }
  }
  return [...found.values()].map(({ name, limits }) => ({ name, limits }))
}

/** A name that a dependency may have: as that of a type. */
export function checkDependency(name: unknown, field: string): string {
  if (typeof name === 'string' && /^[\w.:/-]{1,200}$/.test(name)) return name
  throw refused(field, `is ${JSON.stringify(name)}; the name of a dependency has 1 to 200 letters, digits or _ - . : /`)
}

function encoded(definition: Dependency, field: string): DefinedDependency {
  refuseUnknown(definition, ['name', 'limits'])
  const name = checkDependency(definition.name, field)
  return { name, limits: definition.limits && encodeDependencyLimits(definition.limits) }
}

function isObject(value: unknown): value is Dependency {
  return typeof value === 'object' && value !== null
}
