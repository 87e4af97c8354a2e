import type { BulkAnswer, BulkBody, BulkEstimateAnswer, BulkListQuery } from '../../api/bulk.js'
import type { Holdfast } from '../../holdfast.js'
import { bulkAnswer, bulkRequest } from '../../server/routes/bulk-answers.js'
import { defined } from '../defined.js'
import type { Acting, Operator } from './operator.js'

type Bulk = Operator['bulkActions']

/** Bulk actions, as the HTTP client begins and follows them. */
export class DatabaseBulk implements Pick<Bulk, keyof Bulk> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async create({ why, ...asked }: Omit<BulkBody, 'dry_run'>): Promise<BulkAnswer> {
    return bulkAnswer(await this.#holdfast.bulk(bulkRequest(asked), this.#who(why)))
  }

  async estimate({ why: _, ...asked }: Omit<BulkBody, 'dry_run'>): Promise<BulkEstimateAnswer> {
    return { dry_run: true, ...(await this.#holdfast.bulkActions.estimate(bulkRequest(asked))) }
  }

  async list({ limit = 20, cursor }: BulkListQuery = {}): Promise<{ actions: BulkAnswer[]; next: string | null }> {
    const actions = await this.#holdfast.bulkActions.list({ limit, ...defined({ before: cursor }) })
    return { actions: actions.map(bulkAnswer), next: actions.length === limit ? (actions.at(-1)?.id ?? null) : null }
  }

  async get(id: string): Promise<BulkAnswer | undefined> {
    const found = await this.#holdfast.bulkActions.get(id)
    return found && bulkAnswer(found)
  }

  async abort(id: string, { why }: { why?: string } = {}): Promise<BulkAnswer> {
    return bulkAnswer(await this.#holdfast.bulkActions.abort(id, this.#who(why)))
  }
}
