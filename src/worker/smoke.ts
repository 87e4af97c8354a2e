import { HoldfastError } from '../errors.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { checkedActor } from '../job/actor.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { newJobId } from '../job/id.js'
import { didYouMean } from '../job/nearest.js'
import { misconfigured, notA, refused, refuseUnknown } from '../job/refused.js'
import type { SmokeOption } from '../job/smoke.js'
import type { AnyJobType } from '../job/type.js'
import { buildOf } from './build.js'
import { collectHandlers } from './handlers.js'
import type { HandlerSource } from './start.js'

/** What is tested, and for how long. */
export interface SmokeOptions {
  /**
   * The build whose workers run the jobs.
   * @default HOLDFAST_BUILD of the environment, or what the file of handlers exports as `build`
   */
  build?: string
  /**
   * The only types that are tested, by name.
   * @default all of them
   */
  types?: readonly string[]
  /**
   * How long a job may take from its enqueue to its end.
   * @range 1 s to 1 day
   * @default '1m'
   */
  within?: Duration
  /**
   * Who asks, for the audit log.
   * @default 'smoke test'
   */
  by?: string
}

/** What became of one type. `none`: its definition has no smoke test. */
export interface SmokeResult {
  type: string
  outcome: 'passed' | 'failed' | 'none'
  /** Null: none was enqueued. */
  job: string | null
  /** From the enqueue to the end. */
  ms: number | null
  /** Why it failed. */
  because: string | null
}

/** The smoke test of one build. */
export interface SmokeReport {
  build: string
  /** No type failed, and one was tested. */
  passed: boolean
  types: SmokeResult[]
}

const day = 86_400_000
/** A pin outlives its job, so that a test that is killed leaves none that runs elsewhere. */
const pinnedBeyondMs = 3_600_000

/**
 * Runs one job of each type from its enqueue to its end, on a worker of that build and of no other, and looks at the result as `smoke` of the type
 * says. Types without it are listed.
 * @example
 * import { smoke } from 'holdfast/worker'
 *
 * const { passed, types } = await smoke(holdfast, './handlers.js', { build: '2.4.1' })
 * if (!passed) console.error(types.filter(({ outcome }) => outcome === 'failed'))
 */
export async function smoke(holdfast: Holdfast, source: HandlerSource, options: SmokeOptions = {}): Promise<SmokeReport> {
  refuseUnknown(options, ['build', 'types', 'within', 'by'])
  const { by = 'smoke test', within = '1m', types: only } = options
  checkedActor({ by })
  const withinMs = toMilliseconds(within, 'within')
  if (withinMs < 1000 || withinMs > day) throw notA('within', within, '1 s to 1 day')
  const { handlers, build: exported } = await collectHandlers(source, { module: null, upkeepOnly: false, alerts: false })
  const build = await buildOf(options.build ?? null, exported)
  if (build === null) {
    throw misconfigured('build', 'is missing: say which build is tested, as build, as HOLDFAST_BUILD or in the file of handlers')
  }
  const test = new SmokeTest(holdfast, build, withinMs, by)
  const types = await Promise.all(asked([...handlers.values()], only).map((type) => test.of(type)))
  const passed = types.every(({ outcome }) => outcome !== 'failed') && types.some(({ outcome }) => outcome === 'passed')
  return { build, passed, types }
}

/** Those under their names of today. */
function asked(all: readonly AnyJobType[], only: readonly string[] | undefined): AnyJobType[] {
  const old = new Set(all.flatMap(({ aliases }) => aliases))
  const today = all.filter(({ type }) => !old.has(type))
  if (only === undefined) return today
  const names = today.map(({ type }) => type)
  const missing = only.find((name) => !names.includes(name))
  if (missing === undefined) return today.filter(({ type }) => only.includes(type))
  throw refused('types', `names "${missing}"${didYouMean(missing, names)}, of which there is no handler`)
}

class SmokeTest {
  readonly #holdfast: Holdfast
  readonly #build: string
  readonly #withinMs: number
  readonly #by: string

  constructor(holdfast: Holdfast, build: string, withinMs: number, by: string) {
    this.#holdfast = holdfast
    this.#build = build
    this.#withinMs = withinMs
    this.#by = by
  }

  async of(type: AnyJobType): Promise<SmokeResult> {
    const result = { type: type.type, job: null, ms: null, because: null }
    if (type.smoke === undefined) return { ...result, outcome: 'none' }
    const { builds } = insideOf(this.#holdfast).store.operate
    const job = newJobId()
    if (!(await builds.pin(job, this.#build, type.type, this.#withinMs + pinnedBeyondMs))) {
      return { ...result, outcome: 'failed', because: `no worker of the build ${this.#build} lives, runs it and claims jobs` }
    }
    const because = await this.#run(type, type.smoke, job)
    const story = await this.#holdfast.job(job)
    const ms = story?.finishedAt ? story.finishedAt.getTime() - story.createdAt.getTime() : null
    if (story === undefined || story.finishedAt !== null) await builds.unpin(job)
    return { ...result, job: story ? job : null, ms, because, outcome: because === null ? 'passed' : 'failed' }
  }

  /** Why it failed; null: it passed. */
  async #run(type: AnyJobType, { payload, check }: SmokeOption, id: string): Promise<string | null> {
    const withinMs = this.#withinMs
    try {
      await this.#holdfast.enqueue(type, payload, { id, maxAttempts: 1, unique: false, expireIn: 2 * withinMs, tags: ['smoke'] })
    } catch (error) {
      return `it could not be enqueued: ${(error as Error).message}`
    }
    try {
      const result = await this.#holdfast.wait(id, { timeout: withinMs })
      return check !== undefined && (await check(result, payload)) === false ? 'check answered false' : null
    } catch (error) {
      const why =
        error instanceof HoldfastError && error.code === 'wait_timeout' ? await this.#late(id) : (error as Error).message
      await this.#takeAway(id)
      return why
    }
  }

  async #late(id: string): Promise<string> {
    const gates = (await this.#holdfast.explain(id))?.gates ?? []
    return `it did not end in time${gates[0] ? `: ${gates[0].why}` : ''}`
  }

  /** What failed is no work that anybody has to replay. */
  async #takeAway(id: string): Promise<void> {
    const who = { by: this.#by, why: `the smoke test of the build ${this.#build} failed` }
    const { done } = await this.#holdfast.cancel(id, who)
    if (!done && (await this.#holdfast.job(id))?.status === 'dead') await this.#holdfast.deadLetters.discard(id, who)
  }
}
