import type { TypeGroup } from '../claim/lanes.js'
import type { AnyJobType } from '../job/type.js'
import { hasOwnPlaces, type Places } from '../run/places.js'

/** What a worker claims together: the types that share its slots, and each type by itself that has slots of its own. */
export function groupsOf(types: ReadonlyMap<number, AnyJobType>, places: Places): TypeGroup[] {
  const all = [...types]
  const shared = all.filter(([, type]) => !hasOwnPlaces(type)).map(([id]) => id)
  const own = all.filter(([, type]) => hasOwnPlaces(type))
  const groups = own.map(
    ([id, { type }]): TypeGroup => ({
      types: [id],
      atOnce: places.ownAtOnce(type),
      room: () => places.ownRoom(type),
      startable: () => places.ownFree(type),
    }),
  )
  if (shared.length === 0) return groups
  const [room, startable] = [() => places.sharedRoom, () => places.sharedFree]
  groups.unshift({ types: shared, atOnce: places.sharedAtOnce, room, startable })
  return groups
}
