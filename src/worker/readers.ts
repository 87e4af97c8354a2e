import { LaneReader } from '../claim/lane-reader.js'
import type { AnyJobType } from '../job/type.js'
import { hasOwnPlaces, type Places } from '../run/places.js'
import type { TypeRow } from '../store/rows.js'
import type { Store } from '../store/store.js'

/**
 * What a worker claims, lane by lane: for the slots that inline types share, and for each type that has its own, so that
 * never more jobs are held than can run. Such a type has a reader to itself, because one that reads for several and
 * passes over a type that is full would have to read from the head to find its jobs again; the price is a statement for
 * each such type that has room.
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
    if (shared.length > 0) readers.push(new LaneReader(store, lane, shared, () => places.sharedRoom))
    for (const { id, name } of own) readers.push(new LaneReader(store, lane, [id], () => places.ownRoom(name)))
  }
  return readers
}
