import { didYouMean } from '../job/nearest.js'
import { isOwnType } from '../job/own-types.js'
import { refused } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'
import type { TypeRow } from '../store/rows.js'

/** Which of its types a worker runs; null: all of them. Holdfast's own it always runs. */
export interface Choice {
  types: readonly string[] | null
  lanes: readonly string[] | null
}

/** Before anything is registered: a name that no handler has was meant otherwise. */
export function checkChoice(handlers: ReadonlyMap<string, AnyJobType>, { types }: Choice): void {
  const there = [...handlers.keys()]
  const missing = types?.find((type) => !handlers.has(type))
  if (missing === undefined) return
  throw refused(
    'types',
    `names "${missing}"${didYouMean(missing, there)}, of which there is no handler; there are ${there.join(', ')}`,
  )
}

/** The types that run, with the old names of those that are chosen. Lanes are those in which the types are by now, whatever the code says. */
export function chosen(
  handlers: ReadonlyMap<string, AnyJobType>,
  known: readonly TypeRow[],
  { types, lanes }: Choice,
): { handlers: ReadonlyMap<string, AnyJobType>; known: readonly TypeRow[] } {
  const theirs = known.filter(({ name }) => !isOwnType(name))
  const there = [...new Set(theirs.map(({ lanename }) => lanename))]
  const missing = lanes?.find((lane) => !there.includes(lane))
  if (missing !== undefined) {
    throw refused(
      'lanes',
      `names "${missing}"${didYouMean(missing, there)}, in which none of its types is; they are in ${there.join(', ')}`,
    )
  }
  const oldNames = types?.flatMap((type) => handlers.get(type)?.aliases ?? []) ?? []
  const runs = ({ name, lanename }: TypeRow) =>
    (types === null || types.includes(name) || oldNames.includes(name)) && (lanes === null || lanes.includes(lanename))
  const rows = known.filter((row) => isOwnType(row.name) || runs(row))
  if (theirs.length > 0 && rows.every(({ name }) => isOwnType(name))) {
    throw refused(
      'types',
      `${types?.join(', ')}: none of them is in the lanes ${lanes?.join(', ')}, so this worker would run nothing`,
    )
  }
  const names = new Set(rows.map(({ name }) => name))
  return { handlers: new Map([...handlers].filter(([name]) => names.has(name))), known: rows }
}
