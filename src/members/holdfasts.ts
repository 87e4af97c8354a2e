import { wallMs } from '../clock.js'
import type { Enqueued, EnqueueOptions } from '../enqueue/enqueue.js'
import { HoldfastError } from '../errors.js'
import type { JobCounts } from '../history/counts.js'
import type { JobListFilter } from '../history/list.js'
import { rangeOf, type Series, type SeriesQuestion } from '../history/series.js'
import { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { type Actor, checkedActor } from '../job/actor.js'
import type { JobOptions } from '../job/job-options.js'
import { didYouMean } from '../job/nearest.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import type { AnyJobType, JobRequest, JobType } from '../job/type.js'
import type { HoldfastOptions } from '../options.js'
import { MemberStore } from '../store/member-store.js'
import type { Migrated } from '../store/migrate.js'
import { told } from '../store/sqlstate.js'
import { type Asked, askAll } from './ask.js'
import { readMemberId, withMember } from './id.js'
import { type Located, MemberOperations } from './operations.js'
import { type HoldfastsOptions, readMembers } from './options.js'
import { type MemberJobPage, mergePages, readCursor } from './pages.js'
import { checkName, Roster } from './roster.js'
import { memberOf } from './route.js'
import { MemberRouter, type RouteOptions } from './router.js'
import { addCounts, addSeries } from './sums.js'

/** A member as it is now. */
export interface MemberState {
  name: string
  /** Whether jobs are routed to it by their key. */
  routed: boolean
  /** Jobs that have not ended, dead letters and schedules: what has to run out, or be moved by hand, before it is removed. */
  live: number
  dead: number
  schedules: number
}

/**
 * Several databases as one system. Each is a Holdfast of its own, with its own jobs, limits, schedules and workers; jobs without data of their own are routed to one
 * of them by key.
 * @example
 * import { Holdfasts } from 'holdfast'
 *
 * const holdfasts = new Holdfasts({ members: { eu: 'postgres://eu.internal/app', us: 'postgres://us.internal/app' } })
 * const { id } = await holdfasts.enqueue(sendEmail, { to: 'ada@example.com' }, { key: 'customer-7' })
 */
export class Holdfasts extends MemberOperations {
  /** What the members are called. */
  readonly names: readonly string[]
  readonly #members: ReadonlyMap<string, Holdfast>
  readonly #stores: ReadonlyMap<string, MemberStore>
  readonly #roster: Roster
  readonly #router: MemberRouter

  constructor(options: HoldfastsOptions = {}) {
    super()
    const read = [...readMembers(options, process.env)]
    this.#members = new Map(read.map(([name, own]: [string, HoldfastOptions]) => [name, new Holdfast(own)]))
    this.#stores = new Map([...this.#members].map(([name, one]) => [name, new MemberStore(insideOf(one).store.database)]))
    this.names = [...this.#members.keys()]
    this.#roster = new Roster(this.#stores)
    this.#router = new MemberRouter(this.#members, this.#stores, this.#roster)
  }

  /** One member: everything that a Holdfast does, in that database alone. */
  member(name: string): Holdfast {
    const found = this.#members.get(name)
    if (found) return found
    throw refused('member', `is "${name}"${didYouMean(name, this.names)}; there are ${this.names.join(', ')}`)
  }

  /** The member that jobs with this key are routed to now. */
  async memberOf(key: string): Promise<string> {
    return memberOf(key, await this.#roster.routed({ able: false })) as string
  }

  /**
   * Stores one job, in the member that is named, in that of the transaction, or in that of its key; a job without a key has that of its idempotency key,
   * its unique key or its concurrency key, and any member where it has none of these.
   * @example
   * await holdfasts.enqueue(sendEmail, { to: 'ada@example.com' }, { key: 'customer-7' })
   * await holdfasts.enqueue(sendEmail, { to: 'grace@example.com' }, { member: 'us' })
   */
  async enqueue<Input, Result = unknown>(
    // biome-ignore lint/suspicious/noExplicitAny: what the handler takes does not matter to a producer
    type: JobType<Input, any, Result> | string,
    payload: Input,
    options: JobOptions & RouteOptions & Pick<EnqueueOptions, 'retryFor' | 'signal'> = {},
  ): Promise<Enqueued<Result> & { member: string }> {
    const { key, member: asked, tx, retryFor, signal, ...jobOptions } = options
    const request = { ...jobOptions, type, payload } as JobRequest
    const member = await this.#router.route([request], { key, member: asked, tx })
    const how = { ...(tx && { tx }), ...(retryFor !== undefined && { retryFor }), ...(signal && { signal }) }
    const enqueued = await this.member(member).enqueue<Input, Result>(type, payload, { ...jobOptions, ...how })
    return { ...enqueued, id: withMember(member, enqueued.id), member }
  }

  /** Stores any number of jobs, all or none, and so in one member: that of their key, which they share. */
  async enqueueMany(
    requests: readonly JobRequest[],
    options: EnqueueOptions & RouteOptions = {},
  ): Promise<(Enqueued & { member: string })[]> {
    const { key, member: asked, ...how } = options
    const member = await this.#router.route(requests, { key, member: asked, tx: how.tx })
    const all = await this.member(member).enqueueMany(requests, how)
    return all.map((enqueued) => ({ ...enqueued, id: withMember(member, enqueued.id), member }))
  }

  /** One page of the jobs of all members, newest first, or of one. */
  async jobs(
    filter: JobListFilter & { member?: string } = {},
    options: { cursor?: string; limit?: number } = {},
  ): Promise<MemberJobPage> {
    const { member, ...own } = filter
    refuseUnknown(options, ['cursor', 'limit'])
    const limit = wholeNumber(options.limit ?? 20, 'limit', 1, 100)
    const from = readCursor(options.cursor, this.names)
    const goOn = this.#asked(member).filter((name) => from[name] !== 'end')
    const { answers, unavailable } = await this.#ask(goOn, (holdfast, name) => {
      const cursor = from[name]
      return holdfast.jobs(own, { limit, ...(cursor && { cursor }) })
    })
    return { ...mergePages(answers, from, limit), unavailable }
  }

  /** How many jobs of all members fit a filter, by status. */
  async jobCounts(
    filter: Omit<JobListFilter, 'status'> & { member?: string } = {},
  ): Promise<{ counts: JobCounts; unavailable: string[] }> {
    const { member, ...own } = filter
    const { answers, unavailable } = await this.#ask(this.#asked(member), (holdfast) => holdfast.jobCounts(own))
    return { counts: addCounts([...answers.values()]), unavailable }
  }

  /** What went on in all members between two times: jobs add up, and of times the highest is given. */
  async series(question: SeriesQuestion & { member?: string } = {}): Promise<Series & { unavailable: string[] }> {
    const { member, ...own } = question
    const to = own.to ?? new Date(wallMs())
    const { fromMs, stepMs } = rangeOf({ ...own, to }, wallMs())
    const same = { ...own, from: new Date(fromMs), to, step: stepMs }
    const { answers, unavailable } = await this.#ask(this.#asked(member), (holdfast) => holdfast.series(same))
    const sum = addSeries([...answers.values()])
    if (sum) return { ...sum, unavailable }
    throw new HoldfastError('database_unavailable', `no member answered: ${unavailable.join(', ')}`)
  }

  /** The members as they are now. */
  async members(): Promise<{ members: MemberState[]; unavailable: string[] }> {
    const { answers, unavailable } = await this.#ask(this.names, async (_, name) => {
      const store = this.#stores.get(name) as MemberStore
      const [row, load] = await Promise.all([store.read(), store.load()])
      return { name, routed: row?.routed ?? true, ...load }
    })
    return { members: [...answers.values()], unavailable }
  }

  /** Lets jobs be routed to a member by their key. Every process follows within five seconds. */
  async openMember(name: string, who: Actor): Promise<void> {
    await this.#routeTo(name, true, who)
  }

  /** Routes no more jobs to a member. What is in it goes on, and whoever names the member is served. Every process follows within five seconds. */
  async drainMember(name: string, who: Actor): Promise<void> {
    await this.#routeTo(name, false, who)
  }

  /** Writes types into every member before their first job. */
  async registerTypes(types: readonly AnyJobType[], options: { update?: boolean } = {}): Promise<void> {
    await Promise.all([...this.#members.values()].map((holdfast) => holdfast.registerTypes(types, options)))
  }

  /** Brings the schema of every member up to this version, and gives each its name. */
  async migrate(): Promise<Record<string, Migrated>> {
    const done: Record<string, Migrated> = {}
    for (const [name, holdfast] of this.#members) {
      done[name] = await holdfast.migrate()
      await this.claimName(name)
    }
    return done
  }

  /** Makes sure that the database of a member is the one it is believed to be. @internal */
  async claimName(name: string): Promise<void> {
    checkName(await told((this.#stores.get(name) as MemberStore).be(name)), name)
  }

  /** Ends the connections. A pool of your own stays open. */
  async close(): Promise<void> {
    await Promise.all([...this.#members.values()].map((holdfast) => holdfast.close()))
  }

  /** @internal */
  protected locate(text: string): Promise<Located> {
    const { member, id } = readMemberId(text, this.names)
    return member === undefined ? this.#find(id) : Promise.resolve({ member, holdfast: this.member(member), id })
  }

  async #find(id: string): Promise<Located> {
    const { answers, unavailable } = await this.#ask(this.names, (holdfast) => holdfast.job(id))
    for (const [member, story] of answers) if (story) return { member, holdfast: this.member(member), id }
    if (unavailable.length > 0) {
      const problem = `job ${id} is in no member that answered, and ${unavailable.join(', ')} did not`
      throw new HoldfastError('database_unavailable', problem)
    }
    throw new HoldfastError('not_found', `there is no job ${id} in ${this.names.join(', ')}`)
  }

  async #routeTo(name: string, routed: boolean, who: Actor): Promise<void> {
    this.member(name)
    const actor = checkedActor(who)
    await this.claimName(name)
    await told((this.#stores.get(name) as MemberStore).route(routed, actor))
    this.#roster.forget()
  }

  #asked(member: string | undefined): readonly string[] {
    if (member === undefined) return this.names
    this.member(member)
    return [member]
  }

  #ask<Answer>(names: readonly string[], ask: (holdfast: Holdfast, name: string) => Promise<Answer>): Promise<Asked<Answer>> {
    return askAll(names, (name) => ask(this.member(name), name))
  }
}
