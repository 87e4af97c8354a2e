import type { ScheduleStore } from '../store/schedule-store.js'
import type { Chore } from '../upkeep/upkeep.js'

const everyMs = 600_000
const keptMs = 90 * 86_400_000
const atOnce = 1_000

/** Forgets ticks after 90 days. By then nothing asks for them: a schedule remembers up to when all of its ticks are decided. */
export function ticksChore(store: ScheduleStore): Chore {
  return {
    name: 'ticks',
    everyMs,
    shared: true,
    inNoHurry: true,
    async runOnce() {
      return { more: (await store.forgetTicks(keptMs, atOnce)) === atOnce }
    },
  }
}
