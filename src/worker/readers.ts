import { LaneReader } from '../claim/lane-reader.js'
import type { AnyJobType } from '../job/type.js'
import { hasOwnPlaces, type Places } from '../run/places.js'
import type { TypeRow } from '../store/rows.js'
import type { Store } from '../store/store.js'

/**
 * What a worker claims, lane by lane: for the slots that inline types share, and for the types that have their own. The
 * latter are claimed together, as many as fit whichever of them come, so that many such types cost one statement and
 * never more jobs are held than can run.
 */
export function readersFor(
  store: Store,
  places: Places,
  types: ReadonlyMap<number, AnyJobType>,
  known: readonly TypeRow[],
): LaneReader[] {
  const readers: LaneReader[] = []
  for (const lane of new Set(known.map((row) => row.lane))) {
    const inLane = known.filter((row) => row.lane === lane)
    const own = inLane.filter((row) => hasOwnPlaces(types.get(row.id) as AnyJobType))
    const shared = inLane.filter((row) => !own.includes(row)).map((row) => row.id)
    if (shared.length > 0) readers.push(new LaneReader(store, lane, () => ({ limit: places.sharedRoom, types: shared })))
    if (own.length === 0) continue
    const ids = new Map(own.map((row) => [row.name, row.id]))
    const names = [...ids.keys()]
    const ask = () => {
      const room = places.ownRoom(names)
      return { limit: room.limit, types: room.types.map((name) => ids.get(name) as number) }
    }
    readers.push(new LaneReader(store, lane, ask))
  }
  return readers
}
