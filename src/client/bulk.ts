import type { BulkAnswer, BulkBody, BulkEstimateAnswer, BulkListQuery } from '../api/bulk.js'
import { queryOf } from './query.js'
import { orUndefined, type Send } from './sender.js'

/** Bulk actions over HTTP, in the fields of the API. */
export class ClientBulkActions {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** Does something to all jobs that fit, in the background. */
  async create(asked: Omit<BulkBody, 'dry_run'>): Promise<BulkAnswer> {
    return (await this.#send<BulkAnswer>('POST', '/bulk', asked)).answer
  }

  /** How many jobs that would mean. */
  async estimate(asked: Omit<BulkBody, 'dry_run'>): Promise<BulkEstimateAnswer> {
    return (await this.#send<BulkEstimateAnswer>('POST', '/bulk', { ...asked, dry_run: true })).answer
  }

  /** One page of bulk actions, newest first. `next` is the cursor of the page after it; null: this was the last. */
  async list(query: BulkListQuery = {}): Promise<{ actions: BulkAnswer[]; next: string | null }> {
    return (await this.#send<{ actions: BulkAnswer[]; next: string | null }>('GET', `/bulk${queryOf(query)}`)).answer
  }

  /** One bulk action, and how far it has come; undefined where there is none this key sees. */
  async get(id: string): Promise<BulkAnswer | undefined> {
    return orUndefined(this.#send<BulkAnswer>('GET', `/bulk/${encodeURIComponent(id)}`))
  }

  /** Ends one after the portion under way. One that has ended is refused with `conflict`. */
  async abort(id: string, options: { why?: string } = {}): Promise<BulkAnswer> {
    return (await this.#send<BulkAnswer>('POST', `/bulk/${encodeURIComponent(id)}/abort`, options)).answer
  }
}
