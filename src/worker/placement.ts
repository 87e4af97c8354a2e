import { availableParallelism } from 'node:os'
import { isOwnType } from '../job/own-types.js'
import { misconfigured } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'

/** What a worker with so much memory runs: how many jobs of each isolated type at once, and which types are too large for it. */
export interface Placement {
  atOnce: ReadonlyMap<string, number>
  tooLarge: readonly string[]
}

/**
 * Shares the memory of a worker out among its isolated types, each of which says how much a job of it may use: one job each first, and what is left
 * in turns, up to `atOnce` of each. The shares are fixed, so that no number of small jobs keeps a large one from its memory.
 */
export function placement(types: readonly AnyJobType[], memoryMb: number, cores = availableParallelism()): Placement {
  const isolated = types.filter(({ isolation }) => isolation.kind !== 'inline')
  const needs = ({ isolation }: AnyJobType) => isolation.memoryMb as number
  const fitting = isolated.filter((type) => needs(type) <= memoryMb)
  let left = memoryMb - fitting.reduce((sum, type) => sum + needs(type), 0)
  if (left < 0) {
    const each = fitting.map((type) => `${type.type} (${needs(type)})`).join(', ')
    throw misconfigured(
      'memory',
      `is ${memoryMb} MB, which does not hold one job each of ${each}: give it more, or choose some with types`,
    )
  }
  const atOnce = new Map(fitting.map(({ type }) => [type, 1]))
  for (let given = true; given; ) {
    given = false
    for (const type of fitting) {
      const has = atOnce.get(type.type) as number
      if (has >= (type.isolation.atOnce ?? cores) || needs(type) > left) continue
      atOnce.set(type.type, has + 1)
      left -= needs(type)
      given = true
    }
  }
  return { atOnce, tooLarge: isolated.filter((type) => !fitting.includes(type)).map(({ type }) => type) }
}

/** Handlers as a worker with so much memory runs them, and what there is to say of those that it leaves to others. */
export function placed<Row extends { name: string }>(
  handlers: ReadonlyMap<string, AnyJobType>,
  known: readonly Row[],
  memoryMb: number,
): { handlers: ReadonlyMap<string, AnyJobType>; known: readonly Row[]; warnings: string[] } {
  const { atOnce, tooLarge } = placement([...handlers.values()], memoryMb)
  const runs = new Map(
    [...handlers].flatMap(([name, type]): [string, AnyJobType][] => {
      if (tooLarge.includes(name)) return []
      const most = atOnce.get(name)
      return [[name, most === undefined ? type : { ...type, isolation: { ...type.isolation, atOnce: most } }]]
    }),
  )
  if (![...runs.keys()].some((name) => !isOwnType(name))) {
    throw misconfigured('memory', `is ${memoryMb} MB, less than a job of any of its types needs: ${tooLarge.join(', ')}`)
  }
  const warnings = tooLarge.map(
    (name) => `${name} needs more memory than the ${memoryMb} MB of this worker, which leaves it to others`,
  )
  return { handlers: runs, known: known.filter(({ name }) => runs.has(name)), warnings }
}
