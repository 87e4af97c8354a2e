import type { TypeRegistry } from '../enqueue/registry.js'
import { HoldfastError } from '../errors.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { checkJobId } from '../job/id.js'
import { refuseUnknown, wholeNumber } from '../job/refused.js'
import type { Privacy } from '../privacy/privacy.js'
import type { BulkRow, NewBulk } from '../store/bulk-store.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { bulkType } from './bulk-job.js'
import { type BulkActionName, type BulkRequest, checkFields, encodeBulk } from './bulk-request.js'

/** How many jobs a bulk action would mean. `more`: at least so many, because not all were looked at. */
export interface BulkEstimate {
  estimate: number
  more: boolean
}

/** A bulk action, and how far it has come. */
export interface BulkAction extends BulkEstimate {
  /** Also the id of the job that carries it out. */
  id: string
  action: BulkActionName
  /** Which jobs, in the fields of the HTTP API; null: a list of ids, `estimate` of them. */
  filter: Record<string, unknown> | null
  /** `priority`, `run_at` or `confirmed`, if the action takes one. */
  settings: Record<string, unknown>
  /** The service whose jobs alone are touched; null: those of all. */
  owner: string | null
  by: string
  why: string | null
  pace: number | null
  /** `failed`: the job that carries it out is dead or was cancelled; it goes on if that is replayed or resumed. */
  status: 'waiting' | 'running' | 'completed' | 'aborted' | 'failed'
  /** How many jobs were found so far, and changed; those that were not, by the reason. */
  matched: number
  done: number
  refused: Record<string, number>
  createdAt: Date
  startedAt: Date | null
  endedAt: Date | null
  abortedBy: string | null
  abortedWhy: string | null
}

/** An estimate looks at a few pages of jobs and no further: a filter that fits millions is answered at once. */
const estimated = { pages: 10, perPage: 1_000 }

/** Bulk actions: estimate, look, abort. `holdfast.bulk` begins one. */
export class BulkActions {
  readonly #store: Store
  readonly #types: TypeRegistry
  readonly #privacy: Privacy

  /** @internal */
  constructor(store: Store, types: TypeRegistry, privacy: Privacy) {
    this.#store = store
    this.#types = types
    this.#privacy = privacy
  }

  /** How many jobs a request means now. Changes nothing. `owner`: only jobs of this service. */
  async estimate(request: BulkRequest, options: { owner?: string } = {}): Promise<BulkEstimate> {
    refuseUnknown(options, ['owner'])
    try {
      return await this.#count(await this.#encoded(request, options.owner))
    } catch (error) {
      throw explained(error)
    }
  }

  /** Stores a bulk action; a worker carries it out. */
  async create(request: BulkRequest, who: Actor, options: { owner?: string } = {}): Promise<BulkAction> {
    refuseUnknown(options, ['owner'])
    const by = checkedActor(who)
    try {
      const encoded = await this.#encoded(request, options.owner)
      const { estimate, more } = await this.#count(encoded)
      await this.#types.ensure([bulkType])
      const id = await this.#store.bulk.create({ ...encoded, estimate, atLeast: more }, by)
      return (await this.get(id)) as BulkAction
    } catch (error) {
      throw explained(error)
    }
  }

  /** One bulk action; undefined if there is none, or it ended more than 90 days ago. */
  async get(id: string, options: { owner?: string } = {}): Promise<BulkAction | undefined> {
    checkJobId(id)
    refuseUnknown(options, ['owner'])
    const [row] = await this.#list({ id, owner: options.owner }, 1)
    return row
  }

  /** Bulk actions, newest first: `limit` (20) of them, before the one of the id `before`. */
  async list(options: { limit?: number; before?: string; owner?: string } = {}): Promise<BulkAction[]> {
    refuseUnknown(options, ['limit', 'before', 'owner'])
    const { limit = 20, before, owner } = options
    if (before !== undefined) checkJobId(before)
    return this.#list({ before, owner }, wholeNumber(limit, 'limit', 1, 100))
  }

  /** Ends a bulk action after the portion that is under way. What is done stays done. One that has ended is refused with `conflict`. */
  async abort(id: string, who: Actor, options: { owner?: string } = {}): Promise<BulkAction> {
    const by = checkedActor(who)
    const found = await this.get(id, options)
    if (!found) throw new HoldfastError('not_found', `no bulk action ${id} is kept`, { field: 'id' })
    try {
      if (!(await this.#store.bulk.abort(id, by))) {
        const { status } = (await this.get(id)) ?? found
        throw new HoldfastError('conflict', `nothing was changed: the bulk action is ${status}`)
      }
    } catch (error) {
      throw explained(error)
    }
    return (await this.get(id)) as BulkAction
  }

  async #encoded(request: BulkRequest, owner: string | undefined): Promise<Omit<NewBulk, 'estimate' | 'atLeast'>> {
    checkFields(request)
    return encodeBulk(request, owner, this.#privacy, await this.#store.types(null))
  }

  async #count(asked: Omit<NewBulk, 'estimate' | 'atLeast'>): Promise<BulkEstimate> {
    if (asked.jobs) return { estimate: asked.jobs.length, more: false }
    let estimate = 0
    let cursor: string | null = null
    for (let page = 0; page < estimated.pages; page++) {
      const { ids, next } = await this.#store.bulk.candidates(asked, cursor, estimated.perPage)
      estimate += ids.length
      if (next === null) return { estimate, more: false }
      cursor = next
    }
    return { estimate, more: true }
  }

  async #list(asked: Parameters<Store['bulk']['list']>[0], limit: number): Promise<BulkAction[]> {
    try {
      return (await this.#store.bulk.list(asked, limit)).map(bulkAction)
    } catch (error) {
      throw explained(error)
    }
  }
}

function bulkAction(row: BulkRow): BulkAction {
  const { id, filter, settings, owner, why, pace, estimate, matched, done, refused } = row
  return {
    ...{ id, filter, settings, owner, why, pace, estimate, matched, done, refused },
    action: row.action as BulkActionName,
    by: row.actor,
    status: row.status as BulkAction['status'],
    more: row.at_least,
    createdAt: new Date(row.created_at),
    startedAt: row.started_at === null ? null : new Date(row.started_at),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at),
    abortedBy: row.aborted_by,
    abortedWhy: row.aborted_why,
  }
}
