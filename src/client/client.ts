import type { MovedAnswer } from '../api/common.js'
import type { DoctorAnswer, DoctorQuery } from '../api/doctor.js'
import type {
  CountsAnswer,
  CountsQuery,
  ExplainAnswer,
  JobAnswer,
  ListAnswer,
  ListQuery,
  LogAnswer,
  LogQuery,
  RescheduleBody,
} from '../api/jobs.js'
import type { SeriesAnswer, SeriesQuery, TypeSeriesAnswer, TypeSeriesQuery } from '../api/series.js'
import type { ApproveBody, DecidedAnswer, RejectBody } from '../api/verdicts.js'
import { Checker } from '../job/checker.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import type { JobOptions } from '../job/job-options.js'
import { refuseUnknown, wholeNumber } from '../job/refused.js'
import { readRetry } from '../job/retry-for.js'
import type { JobRequest, JobType } from '../job/type.js'
import { ClientAccess } from './access.js'
import { checkAddress } from './address.js'
import { ClientAlerts } from './alerts.js'
import type { ClientBatch } from './batch-body.js'
import { type ClientBatchCreated, ClientBatches } from './batches.js'
import { ClientBulkActions } from './bulk.js'
import { ClientDeadLetters } from './dead-letters.js'
import { ClientErrorGroups } from './error-groups.js'
import { ClientEvents } from './events.js'
import { ClientExecutions } from './executions.js'
import { ClientFlow } from './flow.js'
import { type ClientPersistence, readPersistence } from './persistence.js'
import { queryOf } from './query.js'
import { ClientSchedules } from './schedules.js'
import { orUndefined, type Send, sender } from './sender.js'
import { type Addressed, addressed, type ClientEnqueued, stored } from './stored.js'

/** Where the server is, and how patient the client is. */
export interface ClientOptions {
  /** Where the server is, such as https://jobs.example.com. */
  url: string | undefined
  /** The key of this service. */
  key: string | undefined
  /**
   * How often one call is sent at most, when the server cannot be reached or asks to try again.
   * @range 1 to 1,000
   * @default 5
   */
  tries?: number
  /**
   * How long one try may take.
   * @range 1 to 86,400,000
   * @default 30_000
   */
  timeoutMs?: number
  /**
   * For how long an enqueue is sent again while the server or its database is away, as in a failover; it keeps its id, so it is stored
   * once. 0: it is sent as often as `tries` says.
   * @range 0 to 1 hour
   * @default '30s'
   */
  retryEnqueueFor?: Duration
}

/**
 * Holdfast over HTTP, for services that have no way to its database. `enqueue` is called as that of the library. Every job gets
 * its id here, so that a call whose answer was lost can be sent again and stores nothing twice.
 * @example
 * import { HoldfastClient } from 'holdfast/client'
 *
 * const client = new HoldfastClient({ url: 'https://jobs.example.com', key: process.env.HOLDFAST_KEY })
 * const { id } = await client.enqueue('send_email', { to: 'ada@example.com' })
 * const { status } = await client.wait(id)
 */
export class HoldfastClient {
  /** Jobs that are watched as one: add, close, look, cancel, retry. */
  readonly batches: ClientBatches
  /** What is done to many jobs in the background: create, estimate, look, abort. */
  readonly bulkActions: ClientBulkActions
  /** Executions of workflows: start, look, wait, cancel, resume, run again. */
  readonly executions: ClientExecutions
  /** What makes jobs by the clock: create, change, pause, run now, preview, backfill, remove. */
  readonly schedules: ClientSchedules
  /** Jobs that ended dead: find, replay, discard. */
  readonly deadLetters: ClientDeadLetters
  /** Failures that are the same as one: how many, since when, an example. */
  readonly errorGroups: ClientErrorGroups
  /** Lanes, workers, limits, pauses and breakers. */
  readonly flow: ClientFlow
  /** Trouble, and the rules that say what that is. */
  readonly alerts: ClientAlerts
  /** Keys, roles and the audit log. */
  readonly access: ClientAccess
  /** What happened to jobs, by a cursor. */
  readonly events: ClientEvents
  readonly #send: Send
  readonly #timeoutMs: number
  readonly #retryForMs: number

  constructor(options: ClientOptions) {
    const { url, key, tries = 5, timeoutMs = 30_000, retryEnqueueFor = '30s' } = options
    const check = new Checker()
    check.known(options, ['url', 'key', 'tries', 'timeoutMs', 'retryEnqueueFor'])
    const address = checkAddress(check, { url, key, timeoutMs }, 'holdfast keys create')
    check.read(() => wholeNumber(tries, 'tries', 1, 1_000), 1)
    this.#retryForMs = check.read(() => readRetry(retryEnqueueFor, 'retryEnqueueFor'), 0)
    check.done('invalid_configuration', 'the options of the client have problems')
    this.#timeoutMs = timeoutMs
    this.#send = sender({ ...address, tries, timeoutMs })
    this.batches = new ClientBatches(this.#send)
    this.bulkActions = new ClientBulkActions(this.#send)
    this.executions = new ClientExecutions(this.#send)
    this.schedules = new ClientSchedules(this.#send)
    this.deadLetters = new ClientDeadLetters(this.#send)
    this.errorGroups = new ClientErrorGroups(this.#send)
    this.flow = new ClientFlow(this.#send)
    this.alerts = new ClientAlerts(this.#send)
    this.access = new ClientAccess(this.#send)
    this.events = new ClientEvents(this.#send)
  }

  /** Stores one job. Resolved means durable. */
  async enqueue<Input>(
    // biome-ignore lint/suspicious/noExplicitAny: what the handler takes does not matter to a producer
    type: JobType<Input, any, any> | string,
    payload: Input,
    options: JobOptions & ClientPersistence = {},
  ): Promise<ClientEnqueued> {
    const { retryFor, signal, ...asked } = options
    const persistence = readPersistence({ retryFor, signal } as ClientPersistence, this.#retryForMs)
    const made = await addressed({ ...asked, type, payload } as JobRequest)
    const { answer, sent } = await this.#send<ClientEnqueued>('POST', '/jobs', made.body, persistence)
    return stored(answer, made, sent)
  }

  /**
   * Stores up to 100 jobs, all or none; answers in their order.
   * @param options.pace how many jobs become due each second, of these and of all other paced calls of their types
   */
  async enqueueMany(
    requests: readonly JobRequest[],
    options: ClientPersistence & { pace?: number } = {},
  ): Promise<ClientEnqueued[]> {
    refuseUnknown(options, ['retryFor', 'signal', 'pace'])
    const { pace } = options
    const persistence = readPersistence(options, this.#retryForMs)
    if (requests.length === 0) return []
    const made = await Promise.all(requests.map(addressed))
    const body = { jobs: made.map((one) => one.body), ...(pace === undefined ? {} : { pace }) }
    const { answer, sent } = await this.#send<{ jobs: ClientEnqueued[] }>('POST', '/jobs/bulk', body, persistence)
    return answer.jobs.map((enqueued, at) => stored(enqueued, made[at] as Addressed, sent))
  }

  /** Stores any number of jobs as one batch: `batches.create` under a shorter name. */
  async batch(request: ClientBatch): Promise<ClientBatchCreated> {
    return this.batches.create(request)
  }

  /** One job with all its attempts; undefined where there is none this key sees. */
  async job(id: string): Promise<JobAnswer | undefined> {
    return orUndefined(this.#send<JobAnswer>('GET', pathOf(id)))
  }

  /** One page of jobs, newest first. `next` is the cursor of the page after it; null: this was the last. */
  async jobs(query: ListQuery = {}): Promise<ListAnswer> {
    return (await this.#send<ListAnswer>('GET', `/jobs${queryOf(query)}`)).answer
  }

  /** How many jobs fit a filter, by status: each counted up to 1,000, of the newest that are looked at. */
  async jobCounts(query: CountsQuery = {}): Promise<CountsAnswer> {
    return (await this.#send<CountsAnswer>('GET', `/jobs/counts${queryOf(query)}`)).answer
  }

  /** What went on, step by step, for charts: the last hour where no time is named. Every list has an entry for each step. */
  async series(query: SeriesQuery = {}): Promise<SeriesAnswer> {
    return (await this.#send<SeriesAnswer>('GET', `/series${queryOf(query)}`)).answer
  }

  /** What went on in every type in the last 15 minutes, or in `last`: rates, failures, percentiles, and points to draw. */
  async typeSeries(query: TypeSeriesQuery = {}): Promise<TypeSeriesAnswer> {
    return (await this.#send<TypeSeriesAnswer>('GET', `/series/types${queryOf(query)}`)).answer
  }

  /** What is wrong with the server, the schema and the fleet, and what to do about each. */
  async doctor(query: DoctorQuery = {}): Promise<DoctorAnswer> {
    return (await this.#send<DoctorAnswer>('GET', `/doctor${queryOf(query)}`)).answer
  }

  /** Why a job is not running now: the gates that are shut, and what would open them; undefined where there is no such job. */
  async explain(id: string): Promise<ExplainAnswer | undefined> {
    return orUndefined(this.#send<ExplainAnswer>('GET', `${pathOf(id)}/explain`))
  }

  /** What a job's handler logged, first to last: at most `limit` lines (1,000) after the one with the id `after`. */
  async log(id: string, query: LogQuery = {}): Promise<LogAnswer['lines']> {
    return (await this.#send<LogAnswer>('GET', `${pathOf(id)}/log${queryOf(query)}`)).answer.lines
  }

  /**
   * Waits until the job has ended, or for `timeout`, at most a minute ('30s', or half of the client's `timeoutMs`); answers with the
   * job either way.
   */
  async wait(job: ClientEnqueued | string, options: { timeout?: Duration } = {}): Promise<JobAnswer> {
    refuseUnknown(options, ['timeout'])
    const id = typeof job === 'string' ? job : job.id
    const ms = toMilliseconds(options.timeout ?? Math.min(30_000, this.#timeoutMs / 2), 'timeout')
    return (await this.#send<JobAnswer>('GET', `${pathOf(id)}/wait?timeout=${ms}ms`, undefined, { waitMs: ms })).answer
  }

  /** Sends a signal to a job. Sent once: after a lost answer a second try would send a second signal. */
  async signal(id: string, name: string, payload?: unknown): Promise<void> {
    const body = { name, ...(payload === undefined ? {} : { payload }) }
    await this.#send('POST', `${pathOf(id)}/signals`, body, { once: true })
  }

  /** Ends a job that waits or runs. One that has ended is refused with `conflict`. */
  async cancel(id: string, options: { why?: string } = {}): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('DELETE', `${pathOf(id)}${queryOf(options)}`)).answer
  }

  /** Takes up a cancelled job from its last checkpoint or step. One that is not, or whose handler may still be at work, is refused with `conflict`. */
  async resume(id: string, options: { why?: string; confirm?: string | string[] } = {}): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('POST', `${pathOf(id)}/resume`, options)).answer
  }

  /** Makes a scheduled job, or one that waits for its next attempt, due at once. One that does not wait for a time is refused with `conflict`. */
  async runNow(id: string, options: { why?: string } = {}): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('POST', `${pathOf(id)}/run-now`, options)).answer
  }

  /** Makes a job that does not run due at another time: `run_at`, or `delay` from when the server gets this. */
  async reschedule(id: string, time: RescheduleBody): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('POST', `${pathOf(id)}/reschedule`, time)).answer
  }

  /** Makes a dead letter of a job that does not run, for a key that may manage dead letters. One that runs is refused with `conflict`. */
  async bury(id: string, options: { why?: string } = {}): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('POST', `${pathOf(id)}/bury`, options)).answer
  }

  /** Gives a job that waits another priority, 0 (low) to 9 (high), for a key that may manage workers. */
  async setPriority(id: string, priority: number, options: { why?: string } = {}): Promise<MovedAnswer> {
    const path = `/admin/workers/jobs/${encodeURIComponent(id)}/priority`
    return (await this.#send<MovedAnswer>('PATCH', path, { ...options, priority })).answer
  }

  /** Approves a job that waits for it. One that does not, or has another payload than that of `revision`, is refused with `conflict`. */
  async approve(id: string, options: ApproveBody = {}): Promise<DecidedAnswer> {
    return (await this.#send<DecidedAnswer>('POST', `${pathOf(id)}/approve`, options)).answer
  }

  /** Rejects a job that waits for approval, and says why: it ends cancelled. */
  async reject(id: string, options: RejectBody): Promise<DecidedAnswer> {
    return (await this.#send<DecidedAnswer>('POST', `${pathOf(id)}/reject`, options)).answer
  }

  /** Deletes everything that is kept of a job that has ended. One that has not is refused with `conflict`. */
  async forget(id: string, options: { why?: string } = {}): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('DELETE', `${pathOf(id)}${queryOf({ ...options, forget: true })}`)).answer
  }
}

function pathOf(id: string): string {
  return `/jobs/${encodeURIComponent(id)}`
}
