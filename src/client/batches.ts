import type { BatchAnswer, BatchListQuery, RetriedBatchAnswer, RetryBatchBody } from '../api/batches.js'
import { newJobId } from '../job/id.js'
import type { JobRequest } from '../job/type.js'
import { batchBody, type ClientBatch } from './batch-body.js'
import { queryOf } from './query.js'
import { orUndefined, type Send } from './sender.js'
import { type Addressed, addressed, type ClientEnqueued, stored } from './stored.js'

/** As many jobs as one request takes. */
const mostAtOnce = 100

/** What `batch` answers with. */
export interface ClientBatchCreated {
  id: string
  status: 'created' | 'existing'
  /** Its members in their order; none where the batch existed. */
  jobs: ClientEnqueued[]
}

/** Batches over HTTP: create, add, close, look, cancel, retry. */
export class ClientBatches {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /**
   * Stores any number of jobs as one batch. Up to 100 go in one request, all or none; more are added to it a hundred at a time, and it is closed
   * after the last, so it does not end before unless `open` says that it stays so.
   */
  async create(request: ClientBatch): Promise<ClientBatchCreated> {
    const { jobs = [], open = false, id = newJobId() } = request
    const first = await Promise.all(jobs.slice(0, mostAtOnce).map(addressed))
    const bodies = first.map((one) => one.body)
    const body = await batchBody(request, id, bodies, open || jobs.length > mostAtOnce)
    const { answer, sent } = await this.#send<Omit<ClientBatchCreated, 'id'>>('POST', '/batches', body)
    const ownRetry = sent > 1 && request.id === undefined && answer.status === 'existing'
    if (answer.status === 'existing' && !ownRetry) return { id, status: 'existing', jobs: [] }
    const members = ownRetry ? bodies.map((one) => ({ id: one.id, status: 'created' as const })) : answer.jobs
    for (let at = mostAtOnce; at < jobs.length; at += mostAtOnce) {
      members.push(...(await this.add(id, jobs.slice(at, at + mostAtOnce))))
    }
    if (!open && jobs.length > mostAtOnce) await this.close(id)
    return { id, status: 'created', jobs: members }
  }

  /** Adds up to 100 jobs to a batch that has not ended, all or none. */
  async add(id: string, jobs: readonly JobRequest[]): Promise<ClientEnqueued[]> {
    const made = await Promise.all(jobs.map(addressed))
    const body = { jobs: made.map((one) => one.body) }
    const { answer, sent } = await this.#send<{ jobs: ClientEnqueued[] }>('POST', `${pathOf(id)}/jobs`, body)
    return answer.jobs.map((enqueued, at) => stored(enqueued, made[at] as Addressed, sent))
  }

  /** Lets a batch that was created open end with its last member. */
  async close(id: string): Promise<void> {
    await this.#send('POST', `${pathOf(id)}/close`, {})
  }

  /** One batch with its counts by status; undefined where there is none this key sees. */
  async get(id: string): Promise<BatchAnswer | undefined> {
    return orUndefined(this.#send<BatchAnswer>('GET', pathOf(id)))
  }

  /** One page of batches, newest first, or the batch of one job. `next` is the cursor of the page after it; null: this was the last. */
  async list(query: BatchListQuery = {}): Promise<{ batches: BatchAnswer[]; next: string | null }> {
    return (await this.#send<{ batches: BatchAnswer[]; next: string | null }>('GET', `/batches${queryOf(query)}`)).answer
  }

  /** Cancels every member of a batch that has not ended. One that has is refused with `conflict`. */
  async cancel(id: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `${pathOf(id)}/cancel`, options)
  }

  /** Replays the dead members of a batch in a round of their own, for a key that may manage dead letters. `confirm` names the sensitive types among them. */
  async retry(id: string, options: RetryBatchBody = {}): Promise<RetriedBatchAnswer> {
    return (await this.#send<RetriedBatchAnswer>('POST', `${pathOf(id)}/retry`, options)).answer
  }
}

function pathOf(id: string): string {
  return `/batches/${encodeURIComponent(id)}`
}
