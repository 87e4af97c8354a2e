import type { BatchAnswer } from '../api/batches.js'
import type { JobAnswer, JobBody, JobSummaryAnswer, ListQuery } from '../api/jobs.js'
import type { ScheduleStoryAnswer } from '../api/schedules.js'
import { sleep } from '../clock.js'
import { type ErrorCode, errorTable, HoldfastError, UniqueConflictError } from '../errors.js'
import { Checker } from '../job/checker.js'
import { newJobId } from '../job/id.js'
import type { JobOptions } from '../job/job-options.js'
import { wholeNumber } from '../job/refused.js'
import type { JobStatus } from '../job/state.js'
import type { JobRequest, JobType } from '../job/type.js'
import { batchBody, type ClientBatch } from './batch-body.js'
import { ClientEvents } from './events.js'
import { ClientExecutions } from './executions.js'
import { jobBody } from './job-body.js'
import { queryOf } from './query.js'

/** Where the server is, and how patient the client is. */
export interface ClientOptions {
  /** Where the server is, such as https://jobs.example.com. */
  url: string
  /** The key of this service. */
  key: string
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
}

/** A job that stands in the queue, and what the enqueue did; see `Enqueued` of the library. */
export interface ClientEnqueued {
  id: string
  status: 'created' | 'existing' | 'replaced' | 'debounced' | 'queued_behind'
}

/** What became of a job. */
export interface ClientMoved {
  id: string
  done: boolean
  was: JobStatus
  status: JobStatus
}

const longestPauseMs = 30_000
/** As many jobs as one request takes. */
const mostAtOnce = 100

/**
 * Holdfast over HTTP, for services that have no way to its database. `enqueue` is called as that of the library. Every job gets
 * its id here, so that a call whose answer was lost can be sent again and stores nothing twice.
 * @example
 * import { HoldfastClient } from 'holdfast/client'
 *
 * const client = new HoldfastClient({ url: 'https://jobs.example.com', key: process.env.HOLDFAST_KEY ?? '' })
 * const { id } = await client.enqueue('send_email', { to: 'ada@example.com' })
 * const { status } = await client.wait(id)
 */
export class HoldfastClient {
  /** Executions of workflows: start, look, wait, cancel, resume, run again. */
  readonly executions = new ClientExecutions((method, path, body, waitMs = 0) =>
    this.#send(method, path, body, waitMs + this.#timeoutMs),
  )
  /** What happened to jobs, by a cursor. */
  readonly events = new ClientEvents((method, path) => this.#send(method, path))
  readonly #url: string
  readonly #key: string
  readonly #tries: number
  readonly #timeoutMs: number

  constructor(options: ClientOptions) {
    const { url, key, tries = 5, timeoutMs = 30_000 } = options
    const check = new Checker()
    check.known(options, ['url', 'key', 'tries', 'timeoutMs'])
    if (!URL.canParse(url)) check.wrong('url', 'must be the address of a server, such as https://jobs.example.com')
    if (!key) check.wrong('key', 'is missing: create one with holdfast keys create')
    check.read(() => wholeNumber(tries, 'tries', 1, 1_000), 1)
    check.read(() => wholeNumber(timeoutMs, 'timeoutMs', 1, 86_400_000), 1)
    check.done('invalid_configuration', 'the options of the client have problems')
    this.#url = url.replace(/\/+$/, '')
    this.#key = key
    this.#tries = tries
    this.#timeoutMs = timeoutMs
  }

  /** Stores one job. Resolved means durable. */
  async enqueue<Input>(
    // biome-ignore lint/suspicious/noExplicitAny: what the handler takes does not matter to a producer
    type: JobType<Input, any, any> | string,
    payload: Input,
    options: JobOptions = {},
  ): Promise<ClientEnqueued> {
    const made = await this.#checkedActor({ ...options, type, payload } as JobRequest)
    const { answer, sent } = await this.#send<ClientEnqueued>('POST', '/jobs', made.body)
    return ours(answer, made, sent)
  }

  /** Stores up to 100 jobs, all or none; answers in their order. */
  async enqueueMany(requests: readonly JobRequest[]): Promise<ClientEnqueued[]> {
    if (requests.length === 0) return []
    const made = await Promise.all(requests.map((request) => this.#checkedActor(request)))
    const body = { jobs: made.map((one) => one.body) }
    const { answer, sent } = await this.#send<{ jobs: ClientEnqueued[] }>('POST', '/jobs/bulk', body)
    return answer.jobs.map((enqueued, at) => ours(enqueued, made[at] as Addressed, sent))
  }

  /**
   * Stores any number of jobs as one batch. Up to 100 go in one request, all or none; more are added to it a hundred at a time, and it is closed
   * after the last, so it does not end before unless `open` says that it stays so.
   */
  async batch(request: ClientBatch): Promise<{ id: string; status: 'created' | 'existing'; jobs: ClientEnqueued[] }> {
    const { jobs = [], open = false, id = newJobId() } = request
    const first = await Promise.all(jobs.slice(0, mostAtOnce).map((job) => this.#checkedActor(job)))
    const body = await batchBody(
      request,
      id,
      first.map((one) => one.body),
      open || jobs.length > mostAtOnce,
    )
    const { answer, sent } = await this.#send<{ status: 'created' | 'existing'; jobs: ClientEnqueued[] }>(
      'POST',
      '/batches',
      body,
    )
    const ownRetry = sent > 1 && request.id === undefined && answer.status === 'existing'
    if (answer.status === 'existing' && !ownRetry) return { id, status: 'existing', jobs: [] }
    const stored = ownRetry ? first.map((one) => ({ id: one.body.id as string, status: 'created' as const })) : answer.jobs
    for (let at = mostAtOnce; at < jobs.length; at += mostAtOnce) {
      stored.push(...(await this.addToBatch(id, jobs.slice(at, at + mostAtOnce))))
    }
    if (!open && jobs.length > mostAtOnce) await this.closeBatch(id)
    return { id, status: 'created', jobs: stored }
  }

  /** Adds up to 100 jobs to a batch that has not ended, all or none. */
  async addToBatch(id: string, jobs: readonly JobRequest[]): Promise<ClientEnqueued[]> {
    const made = await Promise.all(jobs.map((job) => this.#checkedActor(job)))
    const body = { jobs: made.map((one) => one.body) }
    const { answer, sent } = await this.#send<{ jobs: ClientEnqueued[] }>('POST', `/batches/${encodeURIComponent(id)}/jobs`, body)
    return answer.jobs.map((enqueued, at) => ours(enqueued, made[at] as Addressed, sent))
  }

  /** Lets a batch that was created open end with its last member. */
  async closeBatch(id: string): Promise<void> {
    await this.#send('POST', `/batches/${encodeURIComponent(id)}/close`, {})
  }

  /** One batch with its counts by status. */
  async readBatch(id: string): Promise<BatchAnswer> {
    return (await this.#send<BatchAnswer>('GET', `/batches/${encodeURIComponent(id)}`)).answer
  }

  /** Cancels every member of a batch that has not ended. One that has is refused with `conflict`. */
  async cancelBatch(id: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `/batches/${encodeURIComponent(id)}/cancel`, options)
  }

  /** One schedule with its latest ticks, and why it makes no job now where it makes none. */
  async readSchedule(name: string): Promise<ScheduleStoryAnswer> {
    return (await this.#send<ScheduleStoryAnswer>('GET', `/admin/schedules/${encodeURIComponent(name)}`)).answer
  }

  /** Pauses a schedule, for a key that may manage them: no tick makes a job until it is resumed. */
  async pauseSchedule(name: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `/admin/schedules/${encodeURIComponent(name)}/pause`, options)
  }

  /** Lets a paused schedule tick again, from now on. */
  async resumeSchedule(name: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `/admin/schedules/${encodeURIComponent(name)}/resume`, options)
  }

  /** One job with all its attempts; undefined where there is none this key sees. */
  async job(id: string): Promise<JobAnswer | undefined> {
    try {
      return (await this.#send<JobAnswer>('GET', `/jobs/${encodeURIComponent(id)}`)).answer
    } catch (error) {
      if (error instanceof HoldfastError && error.code === 'not_found') return undefined
      throw error
    }
  }

  /** One page of jobs, newest first. `next` is the cursor of the page after it; null: this was the last. */
  async jobs(query: ListQuery = {}): Promise<{ jobs: JobSummaryAnswer[]; next: string | null }> {
    return (await this.#send<{ jobs: JobSummaryAnswer[]; next: string | null }>('GET', `/jobs${queryOf(query)}`)).answer
  }

  /**
   * Waits until the job has ended, or for `timeoutMs`, at most a minute (30,000, or half of the client's `timeoutMs`); answers with the
   * job either way.
   */
  async wait(id: string, options: { timeoutMs?: number } = {}): Promise<JobAnswer> {
    const ms = options.timeoutMs ?? Math.min(30_000, this.#timeoutMs / 2)
    const path = `/jobs/${encodeURIComponent(id)}/wait?timeout=${ms}ms`
    return (await this.#send<JobAnswer>('GET', path, undefined, ms + this.#timeoutMs)).answer
  }

  /** Ends a job that waits or runs. One that has ended is refused with `conflict`. */
  async cancel(id: string, options: { why?: string } = {}): Promise<ClientMoved> {
    const why = options.why === undefined ? '' : `?why=${encodeURIComponent(options.why)}`
    return (await this.#send<ClientMoved>('DELETE', `/jobs/${encodeURIComponent(id)}${why}`)).answer
  }

  /** Takes up a cancelled job from its last checkpoint or step. One that is not, or whose handler may still be at work, is refused with `conflict`. */
  async resume(id: string, options: { why?: string; confirm?: string | string[] } = {}): Promise<ClientMoved> {
    return (await this.#send<ClientMoved>('POST', `/jobs/${encodeURIComponent(id)}/resume`, options)).answer
  }

  /** Deletes everything that is kept of a job that has ended. One that has not is refused with `conflict`. */
  async forget(id: string, options: { why?: string } = {}): Promise<ClientMoved> {
    const why = options.why === undefined ? '' : `&why=${encodeURIComponent(options.why)}`
    return (await this.#send<ClientMoved>('DELETE', `/jobs/${encodeURIComponent(id)}?forget=true${why}`)).answer
  }

  async #checkedActor(request: JobRequest): Promise<Addressed> {
    const body = await jobBody(request)
    return { body: { ...body, id: body.id ?? newJobId() }, brought: body.id !== undefined }
  }

  /** Sends a request until it has an answer that another try would not change. */
  async #send<Answer>(
    method: string,
    path: string,
    body?: object,
    timeoutMs = this.#timeoutMs,
  ): Promise<{ answer: Answer; sent: number }> {
    for (let sent = 1; ; sent++) {
      const { answer, error } = await this.#try<Answer>(method, path, body, timeoutMs)
      if (!error) return { answer: answer as Answer, sent }
      if (!error.retryable || sent >= this.#tries) throw error
      // Not all at the same moment: those who were refused together would come back together.
      const pause = error.retryAfterMs ?? 100 * 2 ** sent
      await sleep(Math.min(longestPauseMs, pause * (1 + Math.random() / 4)))
    }
  }

  async #try<Answer>(method: string, path: string, body: object | undefined, timeoutMs: number): Promise<Tried<Answer>> {
    try {
      const response = await fetch(this.#url + path, {
        method,
        headers: {
          authorization: `Bearer ${this.#key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      })
      const text = await response.text()
      if (response.ok) return { answer: JSON.parse(text) as Answer }
      return { error: problemOf(response, text) }
    } catch (cause) {
      const reason = (cause as Error).cause instanceof Error ? ((cause as Error).cause as Error).message : String(cause)
      return { error: new HoldfastError('server_unreachable', `${this.#url} did not answer: ${reason}`, { cause }) }
    }
  }
}

interface Addressed {
  body: JobBody
  brought: boolean
}

interface Tried<Answer> {
  answer?: Answer
  error?: HoldfastError
}

/** A job found under an id that was made for this very call is the one an earlier try of it stored. */
function ours(enqueued: ClientEnqueued, { body, brought }: Addressed, sent: number): ClientEnqueued {
  const own = sent > 1 && !brought && enqueued.status === 'existing' && enqueued.id === body.id
  return own ? { ...enqueued, status: 'created' } : enqueued
}

/** The server's problem as the error the library would have thrown. Somebody in between may answer something else. */
function problemOf(response: Response, text: string): HoldfastError {
  const { code, detail, field, job_id } = readProblem(text)
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  const options = { ...(field === undefined ? {} : { field }), ...(after >= 0 ? { retryAfterMs: after * 1_000 } : {}) }
  if (code === 'unique_conflict') return new UniqueConflictError(job_id, (detail ?? code).replace(/; nothing was stored$/, ''))
  if (code !== undefined && Object.hasOwn(errorTable, code)) return new HoldfastError(code as ErrorCode, detail ?? code, options)
  const said = `the server answered ${response.status}, and not as Holdfast does; check url`
  if (response.status >= 500 || response.status === 429) return new HoldfastError('server_unreachable', said, options)
  return new HoldfastError('invalid_request', said)
}

function readProblem(text: string): { code?: string; detail?: string; field?: string; job_id?: string } {
  try {
    return (JSON.parse(text) ?? {}) as ReturnType<typeof readProblem>
  } catch {
    return {}
  }
}
