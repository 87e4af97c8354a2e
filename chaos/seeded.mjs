// Chance that comes out the same for the same seed, so that a run can be repeated.

/** Numbers from 0 to 1 (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export function shuffled(items, random) {
  const copy = [...items]
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[copy[i], copy[j]] = [copy[j], copy[i]]
  }
  return copy
}

/** At most `count` of the items, spread evenly over their groups: chance chooses within a group, not between them. */
export function sample(items, count, groupOf, random) {
  const groups = new Map()
  for (const item of shuffled(items, random)) groups.set(groupOf(item), [...(groups.get(groupOf(item)) ?? []), item])
  const chosen = []
  for (let turn = 0; chosen.length < Math.min(count, items.length); turn++) {
    for (const group of groups.values()) if (group[turn] !== undefined && chosen.length < count) chosen.push(group[turn])
  }
  return chosen
}

export const pick = (items, random) => items[Math.floor(random() * items.length)]
