import { HoldfastError } from '../errors.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { readBuild } from '../job/build.js'
import { didYouMean } from '../job/nearest.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import type { BuildStore } from '../store/build-store.js'
import { told } from '../store/sqlstate.js'
import { type CanaryFacts, type CanaryVerdict, canaryVerdict } from './canary-verdict.js'

/** Which code workers run, by the name they were given. */
export interface BuildState {
  build: string
  firstSeen: Date
  /** How many of its workers live. */
  workers: number
  /** Attempts of its workers so far. */
  completed: number
  failed: number
  /** Who told it to claim no more, and why; null: nobody did. */
  drained: { by: string; why: string | null } | null
}

/** The builds of workers: what runs, what is told to drain, and whether a new one does as well as the one before. */
export class Builds {
  readonly #store: BuildStore

  /** @internal */
  constructor(store: BuildStore) {
    this.#store = store
  }

  /** The last hundred builds, the newest first. */
  async list(): Promise<BuildState[]> {
    return (await told(this.#store.all())).map(({ name, seen, workers, completed, failed, drained, by, why }) => ({
      ...{ build: name, firstSeen: new Date(seen), workers, completed, failed },
      drained: drained ? { by: by as string, why } : null,
    }))
  }

  /**
   * Tells every worker of a build to claim no more, also those that start later: SDK workers finish what they have and wait until they are stopped or
   * resumed, remote workers finish it and end.
   */
  async drain(build: string, who: Actor): Promise<void> {
    await this.#tell(build, true, who)
  }

  /** Lets the workers of a build claim again. */
  async resume(build: string, who: Actor): Promise<void> {
    await this.#tell(build, false, who)
  }

  /**
   * Whether a build may go on to its next stage.
   * @param options.baseline what it is compared with; left out: the build that ran most of the same types in the hour before
   */
  async canary(build: string, options: { baseline?: string } = {}): Promise<CanaryVerdict> {
    refuseUnknown(options, ['baseline'])
    const { baseline } = options
    if (baseline !== undefined && baseline === build) throw refused('baseline', 'is the build itself; name the one before it')
    const facts = await told(this.#store.canaryFacts<CanaryFacts>(named(build), baseline === undefined ? null : named(baseline)))
    if (facts) return canaryVerdict(facts)
    throw await this.#unknown(baseline === undefined ? [build] : [build, baseline])
  }

  /** Tells one worker. @internal */
  async tellWorker(id: number, drain: boolean, who: Actor): Promise<void> {
    wholeNumber(id, 'id', 1, 2_147_483_647)
    const heard = await told(this.#store.drainWorker(id, drain, checkedActor(who)))
    if (!heard) throw new HoldfastError('not_found', `no worker ${id} is signed on; holdfast workers ls lists those that are`)
    if (heard.build === null) return
    throw new HoldfastError('conflict', `worker ${id} is drained with its whole build: resume the build "${heard.build}"`)
  }

  async #tell(build: string, drain: boolean, who: Actor): Promise<void> {
    if (!(await told(this.#store.drain(named(build), drain, checkedActor(who))))) throw await this.#unknown([build])
  }

  async #unknown(builds: readonly string[]): Promise<HoldfastError> {
    const known = (await told(this.#store.all())).map(({ name }) => name)
    const build = builds.find((one) => !known.includes(one)) ?? (builds[0] as string)
    const there = known.length > 0 ? `; the newest is ${known[0]}` : '; no worker was given one: see HOLDFAST_BUILD'
    return new HoldfastError('not_found', `no worker has the build "${build}"${didYouMean(build, known)}${there}`, {
      field: 'build',
    })
  }
}

function named(build: string): string {
  return readBuild(build) as string
}
