import type { BatchAnswer, BatchListQuery, RetriedBatchAnswer, RetryBatchBody } from '../../api/batches.js'
import type { BatchFilter } from '../../batch/batches.js'
import type { ClientBatch } from '../../client/batch-body.js'
import type { ClientBatchCreated } from '../../client/batches.js'
import type { ClientEnqueued } from '../../client/stored.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import type { JobRequest } from '../../job/type.js'
import { batchAnswer } from '../../server/routes/batch-answers.js'
import { libraryFilter } from '../../server/routes/filter.js'
import { defined } from '../defined.js'
import type { Acting, Operator } from './operator.js'

type Batches = Operator['batches']

/** Batches, as the HTTP client shows and changes them. */
export class DatabaseBatches implements Pick<Batches, keyof Batches> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async create(request: ClientBatch): Promise<ClientBatchCreated> {
    return this.#holdfast.batch(request)
  }

  async add(id: string, jobs: readonly JobRequest[]): Promise<ClientEnqueued[]> {
    return this.#holdfast.batches.add(id, jobs)
  }

  async list({
    job,
    limit = 20,
    cursor,
    ...filter
  }: BatchListQuery = {}): Promise<{ batches: BatchAnswer[]; next: string | null }> {
    const { batches } = this.#holdfast
    const found =
      job === undefined
        ? await batches.list({ ...libraryFilter<BatchFilter>(filter), ...defined({ limit, before: cursor }) })
        : [await batches.of(job)]
    const shown = found.filter((batch) => batch !== undefined)
    const next = job === undefined && shown.length === limit ? (shown.at(-1)?.id ?? null) : null
    return { batches: shown.map(batchAnswer), next }
  }

  async get(id: string): Promise<BatchAnswer | undefined> {
    const batch = await this.#holdfast.batches.get(id)
    return batch && batchAnswer(batch)
  }

  async close(id: string): Promise<void> {
    await this.#holdfast.batches.close(id)
  }

  async cancel(id: string, { why }: { why?: string } = {}): Promise<void> {
    const { done, because } = await this.#holdfast.batches.cancel(id, this.#who(why))
    if (!done) throw new HoldfastError('conflict', `nothing was changed: ${because}`)
  }

  async retry(id: string, { confirm, why }: RetryBatchBody = {}): Promise<RetriedBatchAnswer> {
    return this.#holdfast.batches.retry(id, this.#who(why), defined({ confirm }))
  }
}
