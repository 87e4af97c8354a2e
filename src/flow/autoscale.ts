import { HoldfastError } from '../errors.js'
import { didYouMean } from '../job/nearest.js'
import type { InspectStore } from '../store/inspect-store.js'
import type { LaneLoadRow } from '../store/load-rows.js'
import type { OperatorStore } from '../store/operator-store.js'
import { explained } from '../store/sqlstate.js'

export interface AutoscaleOptions {
  /** How many jobs one worker runs at once. */
  concurrency: number
  /** Within what time what waits is to be done. */
  targetMs: number
  /** How many more slots than are needed right now, as a share of them: new workers take time to start. */
  headroom: number
  /** One lane; left out: all. */
  lane?: string
}

/** How many workers a lane wants, and why. */
export interface WorkersWanted {
  workers: number
  waiting: number
  running: number
  endedPerSecond: number
  /** How long what waits takes at the pace of the last minute; null: nothing has ended in it. */
  drainSeconds: number | null
  liveWorkers: number
}

/** Until something has ended nobody knows how long a job takes. */
const guessedSeconds = 1

/**
 * By Little's law: what runs, divided by what ends in a second, is how long one job takes. So many slots as are busy now are
 * wanted for what goes on arriving, and those that do in the target time what waits; and the headroom. More than the lane's own slots would
 * stand idle.
 */
export function workersWanted(load: LaneLoadRow, { concurrency, targetMs, headroom }: AutoscaleOptions): WorkersWanted {
  const { running, ended, live, slots } = load
  const waiting = load.enabled ? load.waiting : 0
  const seconds = ended > 0 && running > 0 ? running / ended : guessedSeconds
  const needed = running + (waiting * seconds * 1_000) / targetMs
  const wanted = Math.min(needed * (1 + headroom), slots ?? Number.POSITIVE_INFINITY)
  return {
    workers: Math.ceil(wanted / concurrency),
    waiting,
    running,
    endedPerSecond: ended,
    drainSeconds: waiting === 0 ? 0 : ended > 0 ? waiting / ended : null,
    liveWorkers: live,
  }
}

/** What `GET /autoscale` takes for granted where nothing else is said. */
export const usual = { concurrency: 10, targetMs: 60_000, headroom: 0.3 } as const

/** How many workers of the usual kind the fleet wants. */
export function fleetWanted(loads: readonly LaneLoadRow[]): number {
  return loads.reduce((sum, load) => sum + workersWanted(load, usual).workers, 0)
}

/** How many workers each lane wants now. What waits was counted a moment ago; types that are held back do not count. */
export async function autoscale(
  stores: { inspect: InspectStore; operate: OperatorStore },
  options: AutoscaleOptions,
): Promise<Map<string, WorkersWanted>> {
  try {
    await stores.operate.measureDepths()
    const loads = await stores.inspect.laneLoads()
    const { lane } = options
    const names = loads.map((load) => load.lane)
    if (lane !== undefined && !names.includes(lane)) {
      const problem = `there is no lane "${lane}"${didYouMean(lane, names)}; there are ${names.join(', ')}`
      throw new HoldfastError('unknown_lane', problem, { field: 'lane' })
    }
    const asked = loads.filter((load) => lane === undefined || load.lane === lane)
    return new Map(asked.map((load) => [load.lane, workersWanted(load, options)]))
  } catch (error) {
    throw explained(error)
  }
}
