import { fineBucketOf } from '../job/fine-buckets.js'
import type { Settlement } from '../job/settlement.js'

/** How attempts of one type ended on workers of one build. A run is a bucket and how many attempts took that long. */
export interface BuildNote {
  build: string
  type: string
  completed: number
  failed: number
  dead: number
  runs: [bucket: number, count: number][]
}

type Counts = Omit<BuildNote, 'runs' | 'build' | 'type'> & { runs: Map<number, number> }

const deaths: readonly Settlement['move'][] = ['exhaust', 'die', 'poison']

/** Counts by build, for workers that have one, until it is taken. */
export class BuildCounts {
  #builds = new Map<string, Map<string, Counts>>()

  get size(): number {
    return this.#builds.size
  }

  /** An attempt of a worker of this build was settled, after that many seconds. */
  ended(build: string, type: string, { outcome, move }: Pick<Settlement, 'outcome' | 'move'>, seconds: number): void {
    if (outcome === 'snoozed' || outcome === 'handed_back') return
    const types = this.#builds.get(build) ?? new Map<string, Counts>()
    this.#builds.set(build, types)
    const counts = types.get(type) ?? { completed: 0, failed: 0, dead: 0, runs: new Map<number, number>() }
    types.set(type, counts)
    counts[outcome === 'completed' ? 'completed' : 'failed'] += 1
    if (deaths.includes(move)) counts.dead += 1
    const bucket = fineBucketOf(seconds)
    counts.runs.set(bucket, (counts.runs.get(bucket) ?? 0) + 1)
  }

  take(): BuildNote[] {
    const taken = this.#builds
    this.#builds = new Map()
    return [...taken].flatMap(([build, types]) =>
      [...types].map(([type, { runs, ...ended }]) => ({ build, type, ...ended, runs: [...runs] })),
    )
  }
}
