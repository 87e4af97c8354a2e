import { sleep } from '../clock.js'
import { type Counter, definitionsIn, type Enqueued, enqueue } from '../enqueue/enqueue.js'
import { HoldfastError } from '../errors.js'
import { type Actor, checkedActor } from '../job/actor.js'
import type { Duration } from '../job/duration.js'
import { isJobId, newJobId } from '../job/id.js'
import { refused, refuseUnknown, trueOrFalse, wholeNumber } from '../job/refused.js'
import { storableText } from '../job/text.js'
import { timeAsked } from '../job/time-asked.js'
import type { JobRequest } from '../job/type.js'
import { type Confirm, readConfirm } from '../operate/confirm.js'
import { count, type MovedMany, movedAtOnce } from '../operate/moves.js'
import { told } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { asQueryable, type CallerTransaction } from '../store/transaction.js'
import { type Batch, batchOf } from './batch.js'
import { type BatchCallbacks, callbackNames, callbacksIn, encodeCallbacks } from './callbacks.js'

/** How long a cancel leaves those alone who are at a member. */
const pauseMs = 10

/** What a batch is made of. */
export interface BatchRequest extends BatchCallbacks {
  /** Its members; any number, also none. */
  jobs?: readonly JobRequest[]
  /** For people to know it by. */
  name?: string
  /** A UUIDv7 of your own, so that the same call made again makes no second batch. */
  id?: string
  /**
   * True: it does not end before `close`, so that more jobs can be added for as long as that takes.
   * @default false
   */
  open?: boolean
}

/** A batch that was made. `existing`: one with this id was there before, and nothing was added. */
export interface BatchCreated {
  id: string
  status: 'created' | 'existing'
  /** The members, in the order of `jobs`; empty where the batch existed. One that is `existing`, `replaced` or `debounced` did not join. */
  jobs: Enqueued[]
}

/** What became of a batch that somebody wanted to cancel. */
export interface BatchCancelled {
  id: string
  done: boolean
  was: Batch['status']
  because?: string
}

/** Which batches are listed: those that fit every field that is given. */
export interface BatchFilter {
  /** The service that asks, which sees its own batches alone. */
  owner?: string
  status?: Batch['status']
  /** Its whole name. */
  name?: string
  /** Created at this time or later. */
  createdAfter?: Date
  createdBefore?: Date
  /** Only those made before the batch of this id. */
  before?: string
  /**
   * How many.
   * @range 1 to 100
   * @default 20
   */
  limit?: number
}

const batchStatuses: readonly Batch['status'][] = ['running', 'succeeded', 'failed', 'cancelled']

/** Whose batches are looked at and changed. */
export interface BatchOwner {
  /** The service that asks, which sees and changes its own batches alone. Left out: the application itself, which sees all. */
  owner?: string
}

/** How the jobs of a batch are stored. */
export interface BatchStoreOptions {
  /**
   * The caller's own transaction.
   * @default none: it is stored at once
   */
  tx?: CallerTransaction
  /**
   * For how long it is sent again while the database is away.
   * @range 0 to 1 hour
   * @default retryEnqueueFor of the Holdfast
   */
  retryFor?: Duration
  /**
   * The service that the batch and its members belong to: the server says it, by the key that a request came with.
   * @internal
   */
  owner?: string
}

const stored = ['tx', 'retryFor', 'owner']

/**
 * Any number of jobs that are watched as one. Reading its progress reads no member, and members that end never wait for each other.
 * A batch ends when its last member has; then it enqueues the callbacks that are due, exactly one job for each kind. When a dead
 * member of an ended batch is replayed, a new round begins, with callbacks of its own.
 */
export class Batches {
  readonly #store: Store
  readonly #counter: Counter

  /** @internal */
  constructor(counter: Counter) {
    this.#store = counter.store
    this.#counter = counter
  }

  /** Makes a batch and stores its members, all or none; with `tx`, as part of the caller's transaction. */
  async create(request: BatchRequest, options: BatchStoreOptions = {}): Promise<BatchCreated> {
    refuseUnknown(options, stored)
    refuseUnknown(request, ['jobs', 'name', 'id', 'open', ...callbackNames])
    const { jobs = [] } = request
    const id = request.id === undefined ? newJobId() : checkedId(request.id).toLowerCase()
    const name = request.name === undefined ? null : checkedName(request.name)
    const open = request.open === undefined ? false : trueOrFalse(request.open, 'open')
    const { tx, owner, retryFor } = options
    const callbacks = await encodeCallbacks(request, this.#counter.encryption, tx)
    const definitions = definitionsIn(callbacksIn(request))
    if (!tx) await this.#counter.registry.ensure(definitions)
    let tries = 0
    let existed = false
    const enqueued = await enqueue(this.#counter, jobs, {
      ...(tx && { tx }),
      ...(retryFor !== undefined && { retryFor }),
      ...(owner !== undefined && { owner }),
      within: async (queryable, store) => {
        tries += 1
        if (tx) await this.#counter.registry.ensure(definitions, queryable)
        const created = await this.#store.batches.create({ id, name, callbacks, open }, owner ?? null, queryable)
        // Found by a second try, it is the one that the first try stored.
        if (!created) existed = tries === 1
        else await this.#store.batches.join(id, await store(), owner ?? null, true, queryable)
      },
    })
    return { id, status: existed ? 'existing' : 'created', jobs: existed ? [] : enqueued }
  }

  /**
   * Adds members to a batch that has not ended, all or none. A member that runs may add more to its own batch: that cannot end meanwhile. They
   * belong to the service whose batch it is.
   */
  async add(id: string, jobs: readonly JobRequest[], options: BatchStoreOptions = {}): Promise<Enqueued[]> {
    refuseUnknown(options, stored)
    const { tx, retryFor, owner = null } = options
    const batch = await this.#kept(id, owner, tx)
    return enqueue(this.#counter, jobs, {
      ...(tx && { tx }),
      ...(retryFor !== undefined && { retryFor }),
      ...(batch.owner !== null && { owner: batch.owner }),
      within: async (queryable, store) => {
        const created = await store()
        // None: an earlier try of this call stored and added them, or they are other jobs.
        if (created.length > 0) await this.#store.batches.join(id, created, owner, false, queryable)
      },
    })
  }

  /** One batch with its counts by status; undefined where no such batch is kept. */
  async get(id: string, options: BatchOwner = {}): Promise<Batch | undefined> {
    refuseUnknown(options, ['owner'])
    const { owner } = options
    const row = await told(this.#store.batches.progress(checkedId(id), owner ?? null))
    return row && batchOf(row)
  }

  /** The batch that a job is a member or a callback of; undefined where there is none. */
  async of(job: string, options: BatchOwner = {}): Promise<Batch | undefined> {
    refuseUnknown(options, ['owner'])
    const id = await told(this.#store.batches.ofJob(checkedId(job)))
    return id === undefined ? undefined : this.get(id, options)
  }

  /** One page of `limit` batches (20), newest first, those that fit and were made before the batch `before`. */
  async list(options: BatchFilter = {}): Promise<Batch[]> {
    refuseUnknown(options, ['owner', 'before', 'limit', 'status', 'name', 'createdAfter', 'createdBefore'])
    const limit = wholeNumber(options.limit ?? 20, 'limit', 1, 100)
    const before = options.before === undefined ? null : checkedId(options.before)
    const { owner = null, status = null, name } = options
    if (status !== null && !batchStatuses.includes(status)) {
      throw refused('status', `is ${String(status)}; there are ${batchStatuses.join(', ')}`)
    }
    const asked = {
      ...{ owner, status, name: name === undefined ? null : storableText(name, 'name') },
      createdAfter: timeAsked(options.createdAfter, 'createdAfter'),
      createdBefore: timeAsked(options.createdBefore, 'createdBefore'),
    }
    return (await told(this.#store.batches.list(asked, before, limit))).map(batchOf)
  }

  /** Lets a batch that is open end with its last member. False: it was not open. */
  async close(id: string, options: BatchOwner = {}): Promise<boolean> {
    refuseUnknown(options, ['owner'])
    return told(this.#store.batches.close(checkedId(id), options.owner ?? null))
  }

  /**
   * Cancels whatever is live of a batch. When the handlers that were running have stopped, the batch ends as cancelled. Workers go on with it
   * where this process does not live to see the end.
   */
  async cancel(id: string, who: Actor, options: BatchOwner = {}): Promise<BatchCancelled> {
    refuseUnknown(options, ['owner'])
    const by = checkedActor(who)
    const was = await told(this.#store.batches.cancel(checkedId(id), options.owner ?? null, by))
    if (was !== 'running') return { id, done: false, was, because: `it has ended: it ${was}` }
    // A member that somebody is at is passed over until they have let it go.
    while (await told(this.#store.batches.cancelOn(id))) await sleep(pauseMs)
    return { id, done: true, was }
  }

  /**
   * Replays the dead members of a batch, all in one transaction: of a batch that has ended they are one new round. Those of sensitive types only
   * with `confirm`, as in `deadLetters.replay`.
   */
  async retry(id: string, who: Actor, options: BatchOwner & { confirm?: Confirm } = {}): Promise<MovedMany> {
    refuseUnknown(options, ['owner', 'confirm'])
    const { owner, confirm } = options
    const by = checkedActor(who)
    const confirmed = readConfirm(confirm)
    await this.#kept(id, owner ?? null)
    const answer: MovedMany = { matched: 0, done: 0, refused: {} }
    for (const row of await told(this.#store.batches.replayDead(id, confirmed, by, movedAtOnce))) {
      answer.matched += 1
      count(answer, row)
    }
    return answer
  }

  async #kept(id: string, owner: string | null, tx?: CallerTransaction) {
    const batch = await told(this.#store.batches.progress(checkedId(id), owner, tx && asQueryable(tx)))
    if (batch) return batch
    throw new HoldfastError('not_found', `no batch ${id} is kept`, { field: 'id' })
  }
}

function checkedId(id: string): string {
  if (isJobId(id)) return id
  throw refused('id', `is ${JSON.stringify(id)}; it must be a UUIDv7`)
}

function checkedName(name: string): string {
  if (typeof name === 'string' && name.length >= 1 && name.length <= 200) return storableText(name, 'name')
  throw refused('name', 'must be a text of 1 to 200 characters')
}
