import type { TypeGroup } from '../claim/lanes.js'
import type { AnyJobType } from '../job/type.js'
import { hasOwnSlots, type SlotPools } from '../run/slot-pools.js'

/** What a worker claims together: the types that share its slots, and each type by itself that has slots of its own. */
export function groupsOf(types: ReadonlyMap<number, AnyJobType>, pools: SlotPools): TypeGroup[] {
  const all = [...types]
  const shared = all.filter(([, type]) => !hasOwnSlots(type)).map(([id]) => id)
  const own = all.filter(([, type]) => hasOwnSlots(type))
  const groups = own.map(
    ([id, { type, chunk, isolation }]): TypeGroup => ({
      types: [id],
      // The jobs of one call have an order too.
      atOnce: chunk ? (isolation.atOnce as number) : pools.ownAtOnce(type),
      claimable: () => pools.ownClaimable(type),
      inARow: () => pools.ownInARow(type),
      wanted: () => pools.wanted(type),
    }),
  )
  if (shared.length === 0) return groups
  const [claimable, inARow] = [() => pools.sharedClaimable, () => pools.sharedInARow]
  groups.unshift({ types: shared, atOnce: pools.sharedAtOnce, claimable, inARow, wanted: () => pools.wanted() })
  return groups
}
