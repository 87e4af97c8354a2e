import { Access } from './access/access.js'
import { type AuditLine, type AuditQuestion, readAudit } from './access/audit.js'
import { Alerts } from './alerts/alerts.js'
import { type BatchCreated, Batches, type BatchRequest } from './batch/batches.js'
import type { CheckUp, DoctorOptions } from './doctor/doctor.js'
import { counterOf } from './enqueue/counter.js'
import { type Counter, type Enqueued, type EnqueueOptions, enqueue } from './enqueue/enqueue.js'
import { TypeRegistry } from './enqueue/registry.js'
import { type Explanation, explain } from './flow/explain.js'
import { Flow } from './flow/flow.js'
import { countJobs, type JobCounts } from './history/counts.js'
import { ErrorGroups } from './history/error-groups.js'
import { Events } from './history/events.js'
import { encodeListFilter, encodePageOptions, type JobListFilter, type JobPage, listJobs } from './history/list.js'
import { readSeries, type Series, type SeriesQuestion } from './history/series.js'
import { type JobStory, type LogLine, readLog, readStory } from './history/story.js'
import { readTypeSeries, type TypeSeries, type TypeSeriesQuestion } from './history/type-series.js'
import { resultOf, type WaitOptions } from './history/wait.js'
import { Waiters } from './history/waiters.js'
import { keepInside } from './inside.js'
import type { Actor } from './job/actor.js'
import { toMilliseconds } from './job/duration.js'
import { checkJobId } from './job/id.js'
import type { JobOptions } from './job/job-options.js'
import type { AnyJobType, JobRequest, JobType } from './job/type.js'
import { type BulkAction, BulkActions } from './operate/bulk.js'
import type { BulkRequest } from './operate/bulk-request.js'
import { DeadLetters } from './operate/dead-letters.js'
import { JobOperations } from './operate/job-operations.js'
import { type HoldfastOptions, readOptions } from './options.js'
import type { Privacy } from './privacy/privacy.js'
import { Schedules } from './schedule/schedules.js'
import type { Migrated } from './store/migrate.js'
import { told } from './store/sqlstate.js'
import { Store } from './store/store.js'
import type { CallerTransaction } from './store/transaction.js'
import { type ArchiveDay, type ArchivedDay, type ArchiveOptions, archive } from './upkeep/archive.js'
import { type Reencrypted, type ReencryptOptions, reencrypt } from './upkeep/reencrypt.js'
import { WakeUps } from './waking/wake-ups.js'
import { Executions } from './workflow/executions.js'
import type { Started, StartOptions } from './workflow/start.js'
import type { Workflow } from './workflow/typed.js'

/** One that only reads is made on connections that are there already. */
const itsStore = Symbol('its store')
type WithStore = HoldfastOptions & { [itsStore]?: Store }

/**
 * The way into the queue. One per process; it opens connections when they are first needed.
 * @example
 * import { Holdfast } from 'holdfast'
 * const holdfast = new Holdfast({ connectionString: 'postgres://localhost/app' })
 * await holdfast.migrate()
 * await holdfast.close()
 */
export class Holdfast extends JobOperations {
  /** Lanes, limits, pauses and breakers. */
  readonly flow: Flow
  /** Jobs that ended dead: find, replay, discard. */
  readonly deadLetters: DeadLetters
  /** Keys and roles of those who come over HTTP. */
  readonly access: Access
  /** Trouble, the rules that say what that is, and who is notified of it. */
  readonly alerts: Alerts
  /** Jobs that are watched as one. */
  readonly batches: Batches
  /** Executions of workflows: look, wait, cancel, resume, run again. */
  readonly executions: Executions
  /** What makes jobs by the clock: define, create, pause, preview, backfill. */
  readonly schedules: Schedules
  /** What happened to jobs, by a cursor. */
  readonly events: Events
  /** What is done to many jobs in the background: estimate, look, abort. */
  readonly bulkActions: BulkActions
  /** Failures that are the same as one: how many, since when, an example. */
  readonly errorGroups: ErrorGroups
  readonly #store: Store
  readonly #types: TypeRegistry
  readonly #privacy: Privacy
  readonly #counter: Counter
  readonly #waiters: Waiters
  readonly #wakeUps: WakeUps | undefined

  constructor(options: HoldfastOptions = {}) {
    const { privacy, alertHosts, retryEnqueueForMs, wakeUrl, readUrl, ...database } = readOptions(options, process.env)
    const store = (options as WithStore)[itsStore] ?? new Store(database)
    super(store, privacy)
    this.#store = store
    this.#types = new TypeRegistry(this.#store)
    this.#privacy = privacy
    this.flow = new Flow(this.#store.operate)
    this.deadLetters = new DeadLetters(this.#store, this.#types, this.#privacy)
    this.bulkActions = new BulkActions(this.#store, this.#types, this.#privacy)
    this.errorGroups = new ErrorGroups(this.#store)
    this.access = new Access(this.#store.access, this.#store.sessions)
    this.alerts = new Alerts(this.#store.alerts, alertHosts, this.#privacy)
    this.events = new Events(this.#store.events)
    this.schedules = new Schedules(this.#store, this.#types, this.#privacy)
    this.#wakeUps = wakeUrl === undefined ? undefined : new WakeUps(wakeUrl, database.schema)
    this.#counter = counterOf(this.#store, this.#types, this.#privacy, alertHosts, retryEnqueueForMs, this.#wakeUps)
    this.batches = new Batches(this.#counter)
    this.#waiters = new Waiters(this.#store)
    this.executions = new Executions(this.#counter, this.#privacy, this.#waiters)
    keepInside<Holdfast>(this, {
      store: this.#store,
      types: this.#types,
      wakeUps: this.#wakeUps,
      privacy: this.#privacy,
      alertHosts,
      hasReplica: readUrl !== undefined,
      forReading: ({ connections, within, replica }) =>
        new Holdfast({
          ...options,
          [itsStore]: this.#store.forReading(connections, toMilliseconds(within, 'within'), replica ? readUrl : undefined),
        } as WithStore),
    })
  }

  /**
   * Writes types into the database before their first job, so that SQL and other languages can enqueue them. A type that is there
   * keeps its values; with `update` it takes those of its definition, as it does when a worker starts.
   */
  async registerTypes(types: readonly AnyJobType[], options: { update?: boolean } = {}): Promise<void> {
    await this.#types.register(types, options)
  }

  /**
   * Stores one job. Resolved means durable, or with `tx`: part of the caller's transaction.
   * @example
   * const { id, status } = await holdfast.enqueue(sendEmail, { to: 'ada@example.com' }, { delay: '10m', idempotencyKey: 'welcome-7' })
   */
  async enqueue<Input, Result = unknown>(
    // biome-ignore lint/suspicious/noExplicitAny: what the handler takes does not matter to a producer
    type: JobType<Input, any, Result> | string,
    payload: Input,
    options: JobOptions & Pick<EnqueueOptions, 'tx' | 'retryFor' | 'signal'> = {},
  ): Promise<Enqueued<Result>> {
    const { tx, retryFor, signal, ...jobOptions } = options
    const how = { ...(tx && { tx }), ...(retryFor !== undefined && { retryFor }), ...(signal && { signal }) }
    const [enqueued] = await enqueue(this.#counter, [{ ...jobOptions, type, payload } as JobRequest], how)
    return enqueued as Enqueued<Result>
  }

  /**
   * Stores any number of jobs, all or none; answers in their order.
   * @example
   * const people = ['ada@example.com', 'grace@example.com']
   * const jobs = await holdfast.enqueueMany(people.map((to) => sendEmail.job({ to }, { tags: ['newsletter'] })), { pace: 50 })
   */
  async enqueueMany(requests: readonly JobRequest[], options: EnqueueOptions = {}): Promise<Enqueued[]> {
    return enqueue(this.#counter, requests, options)
  }

  /**
   * Does something to all jobs that fit, in the background: a worker works through them in portions, and goes on where another one was killed.
   * @example
   * const bulk = await holdfast.bulk({ action: 'cancel', filter: { type: 'send_email', tags: ['spring'] } }, { by: 'ada', why: 'wrong text' })
   * const { status, done, refused } = (await holdfast.bulkActions.get(bulk.id)) ?? bulk
   */
  async bulk(request: BulkRequest, who: Actor): Promise<BulkAction> {
    return this.bulkActions.create(request, who)
  }

  /**
   * Stores any number of jobs as one batch, all or none; its end enqueues the callbacks that are due.
   * @example
   * const jobs = ['ada@example.com', 'grace@example.com'].map((to) => sendEmail.job({ to }))
   * const { id } = await holdfast.batch({ name: 'newsletter', jobs, onComplete: sendEmail.job({ to: 'editor@example.com' }) })
   */
  async batch(request: BatchRequest, options: { tx?: CallerTransaction } = {}): Promise<BatchCreated> {
    return this.batches.create(request, options)
  }

  /**
   * Starts an execution of a workflow, or of what is registered under a name. Resolved means durable, or with `tx`: part of the caller's transaction.
   * @example
   * const { id } = await holdfast.start(order, { cart: 'a7', total: 30 })
   */
  start<In, Output>(workflow: Workflow<In, Output> | string, input: In, options?: StartOptions): Promise<Started<Output>> {
    return this.executions.start(workflow, input, options)
  }

  /** One job with its status and all its attempts; undefined where no such job is kept. */
  async job(id: string): Promise<JobStory | undefined> {
    checkJobId(id)
    return readStory(this.#store.inspect, id, this.#privacy)
  }

  /**
   * Waits until a job has ended. Resolves with what its handler returned, typed where the job is what `enqueue` answered or the type is given;
   * throws a JobEndedError where it ended dead, cancelled or discarded, and `wait_timeout` when the time is over.
   * @example
   * const job = await holdfast.enqueue(sendEmail, { to: 'ada@example.com' })
   * const { message } = await holdfast.wait(job, { timeout: '30s' })
   */
  async wait<Result = unknown>(job: Enqueued<Result> | string, options: WaitOptions<Result> = {}): Promise<Result> {
    return (await resultOf(this.#waiters, this.#privacy, job, options)) as Result
  }

  /** One page of jobs, newest first, ended or not: `limit` of them (20) after `cursor`; `next` is the cursor of the page after it, or null. */
  async jobs(filter: JobListFilter = {}, options: { cursor?: string; limit?: number } = {}): Promise<JobPage> {
    return told(listJobs(this.#store, this.#privacy, encodeListFilter(filter), encodePageOptions(options)))
  }

  /** How many jobs fit a filter, by status: each counted up to 1,000, of the newest that a page of a list would look at. */
  async jobCounts(filter: Omit<JobListFilter, 'status'> = {}): Promise<JobCounts> {
    return told(countJobs(this.#store, this.#privacy, encodeListFilter(filter)))
  }

  /** What a job's handler logged, first to last: at most `limit` lines (1,000) after the one with the id `after`. */
  async log(id: string, options: { after?: string; limit?: number } = {}): Promise<LogLine[]> {
    checkJobId(id)
    return readLog(this.#store.inspect, id, options)
  }

  /**
   * Why a job is not running now: the gates that are shut, and what would open them.
   * @example
   * const { id } = await holdfast.enqueue(sendEmail, { to: 'ada@example.com' })
   * const [first] = (await holdfast.explain(id))?.gates ?? []
   * console.log(`${first?.why}; it opens by ${first?.opens}`)
   */
  async explain(id: string): Promise<Explanation | undefined> {
    checkJobId(id)
    const facts = await this.#store.inspect.explainFacts(id)
    return facts && explain(facts)
  }

  /**
   * What went on between two times, step by step, for charts: the last hour where none is named.
   * @example
   * const { completed, failed, stepMs } = await holdfast.series({ type: 'send_email', step: '1m' })
   * console.log(`${completed.length} steps of ${stepMs} ms, ${completed.at(-1)} completed and ${failed.at(-1)} failed in the last`)
   */
  async series(question: SeriesQuestion = {}): Promise<Series> {
    return told(readSeries(this.#store, question))
  }

  /**
   * What went on in every type in the last 15 minutes, or in `last`: rates, failures, percentiles, and points to draw.
   * @example
   * const { types } = await holdfast.typeSeries({ last: '1h' })
   * console.log(types.filter(({ failedShare }) => (failedShare ?? 0) > 0.1).map(({ type }) => type))
   */
  async typeSeries(question: TypeSeriesQuestion = {}): Promise<TypeSeries> {
    return told(readTypeSeries(this.#store, question))
  }

  /**
   * Looks for what endangers jobs or makes them slow: settings of the server, connections, dead rows, long transactions, indexes, clocks,
   * notifications, retention, lanes, the schema. Says what to do about each, and changes nothing.
   * @example
   * const { verdict, findings } = await holdfast.doctor()
   * if (verdict !== 'fine') console.error(findings.map(({ message, remedy }) => `${message}: ${remedy}`).join('\n'))
   */
  async doctor(options: DoctorOptions = {}): Promise<CheckUp> {
    const { checkUp } = await import('./doctor/doctor.js')
    return checkUp(this.#store, options)
  }

  /** What operators did, the latest first. */
  async audit(question: AuditQuestion = {}): Promise<AuditLine[]> {
    return readAudit(this.#store.access, question)
  }

  /**
   * Encrypts what is stored with the current key where it was encrypted with another, or not at all; waiting jobs, dead letters
   * and jobs that have ended alike. Goes through everything, some payloads at a time, while workers run, and can be run again.
   */
  async reencrypt(options: ReencryptOptions = {}): Promise<Reencrypted> {
    return reencrypt(this.#store, this.#privacy, options)
  }

  /**
   * Hands on each day of history that is over and not archived, the oldest first, and answers with those that it did. A day is archived when
   * `write` has read all its jobs and resolved; one that was cut short is handed on whole by the next call.
   */
  async archive(write: (day: ArchiveDay) => Promise<void>, options: ArchiveOptions = {}): Promise<ArchivedDay[]> {
    return archive(this.#store, write, options)
  }

  /** Brings the database schema up to this version. Safe in many processes at once. */
  async migrate(): Promise<Migrated> {
    const { migrate } = await import('./store/migrate.js')
    return migrate(this.#store.database)
  }

  /** Makes the database roles for producers, readers, workers, operators and servers, and gives each the rights it needs. */
  async grantRoles(): Promise<void> {
    const { grantRoles } = await import('./store/migrate.js')
    await grantRoles(this.#store.database)
  }

  /** Ends the connections. A pool of your own stays open. */
  async close(): Promise<void> {
    await this.#waiters.close()
    this.#wakeUps?.close()
    await this.#store.close()
  }
}
