import { HoldfastError } from '../errors.js'
import type { Duration } from '../job/duration.js'
import { refused, refuseUnknown } from '../job/refused.js'
import type { AnyJobType, JobRequest } from '../job/type.js'
import { explained } from '../store/sqlstate.js'
import type { NewJob, Stands, Store } from '../store/store.js'
import { asQueryable, type CallerTransaction, type Queryable } from '../store/transaction.js'
import { telemetry } from '../tracing/telemetry.js'
import type { WakeUps } from '../waking/wake-ups.js'
import type { AdmissionEnd, Backpressure } from './backpressure.js'
import { type Batcher, waitsForNobody } from './batcher.js'
import { type Persistence, readPersistence, untilStored } from './durably.js'
import type { PayloadEncryption } from './encrypt.js'
import { paced, spread } from './pace.js'
import { prepareAll } from './prepare.js'
import type { TypeRegistry } from './registry.js'
import { webhookType } from './webhook.js'

const known = ['tx', 'pace', 'owner', 'retryFor', 'signal']

/** What several jobs are enqueued with. */
export interface EnqueueOptions {
  /**
   * The caller's own transaction.
   * @default none: it is stored at once
   */
  tx?: CallerTransaction
  /**
   * How many jobs become due each second, of these and of all other paced calls of their types, which come one after the other. They have
   * a low priority unless they say otherwise.
   * @range above 0 to 100,000
   * @default no pace: all are due at once
   */
  pace?: number
  /**
   * For how long the jobs are sent again while the database is away; 0 for four quick tries. Not with `tx`: a transaction that broke is the caller's.
   * @range 0 to 1 hour
   * @default retryEnqueueFor of the Holdfast
   */
  retryFor?: Duration
  /**
   * Ends the waiting. What was sent by then may have been stored all the same.
   * @default none
   */
  signal?: AbortSignal
  /**
   * The service these jobs belong to: the server says it, by the key that a request came with.
   * @internal
   */
  owner?: string
}

/**
 * Stores jobs as part of something larger, in one transaction with it: does what comes before, calls `store`, and does what comes after with
 * those that were created. It may leave `store` out.
 */
export type Within = (tx: Queryable, store: () => Promise<string[]>) => Promise<void>

/** What the handler of an enqueued job returns; there for the compiler alone. */
declare const resultOf: unique symbol

/** A job that stands in the queue, and, for `wait`, what it results in. */
export interface Enqueued<Result = unknown> {
  id: string
  readonly [resultOf]?: Result
  /**
   * `existing`: an earlier job has this id, idempotency key or unique key; nothing was added. The others are about
   * unique keys: `replaced` and `debounced` gave the waiting job a new payload, `queued_behind` made a job that starts
   * when the running one has ended.
   */
  status: 'created' | 'existing' | 'replaced' | 'debounced' | 'queued_behind'
}

/** What an enqueue works with: the registered types, the depths, and the batcher that concurrent enqueues share. */
export interface Counter {
  store: Store
  registry: TypeRegistry
  backpressure: Backpressure
  batcher: Batcher
  /** How long an enqueue is sent again where its caller does not say. */
  retryForMs: number
  /** Tells idle workers of new jobs where LISTEN cannot. */
  wakeUps: WakeUps | undefined
  encryption: PayloadEncryption
}

/** More jobs than these are stored in several statements of one transaction, because both sides hold a statement's text in memory. */
const mostPerStatement = { jobs: 5_000, characters: 8_000_000 }

/**
 * Stores jobs, all or none, and answers in order. With the caller's transaction they exist if and only if it commits;
 * without, they are durable when this resolves.
 */
export async function enqueue(
  counter: Counter,
  requests: readonly JobRequest[],
  options: EnqueueOptions & { within?: Within } = {},
): Promise<Enqueued[]> {
  const { within, ...asked } = options
  refuseUnknown(asked, known)
  const { tx } = asked
  const persistence = readPersistence(asked, counter.retryForMs)
  const prepared = prepareAll(options.pace === undefined ? requests : paced(requests, options.pace))
  const jobs = Array.isArray(prepared) ? prepared : await prepared
  refuseRepeatedIds(jobs)
  if (jobs.length === 0 && !within) return []
  const encrypt = () => counter.encryption.encrypt(requests, jobs, tx)
  const types = definitionsIn(requests)
  const { owner, pace } = options
  const store = async () => {
    if (tx === undefined) return storeDurably(counter, types, jobs, { owner, pace, within }, encrypt, persistence)
    await encrypt()
    return storeIn(tx, counter, types, jobs, { owner, pace, within })
  }
  const standing = await (telemetry()?.enqueue(jobs, store) ?? store())
  // Nothing here learns when a caller's transaction commits; workers that a Redis notifies find its jobs at their next poll.
  if (tx === undefined) counter.wakeUps?.newJobs(jobs.map(({ type }) => type))
  if (standing.size === 0) return jobs.map((job) => ({ id: job.id, status: 'created' }))
  return jobs.map((job, index) => {
    const stands = standing.get(index)
    return stands ? { id: stands.id, status: stands.what } : { id: job.id, status: 'created' }
  })
}

interface HowStored {
  owner: string | undefined
  pace: number | undefined
  within: Within | undefined
}

function idsOf(jobs: readonly NewJob[]): string[] {
  return jobs.map((job) => job.id)
}

/** Each once, however many jobs have it; with that of the jobs that send their webhooks, which is enqueued in the database. */
export function definitionsIn(requests: readonly JobRequest[]): AnyJobType[] {
  const found = new Set<AnyJobType>()
  for (const { type, webhook } of requests) {
    if (typeof type !== 'string') found.add(type)
    if (webhook !== undefined) found.add(webhookType)
  }
  return [...found]
}

async function storeIn(
  tx: CallerTransaction,
  { store, registry, backpressure }: Counter,
  types: readonly AnyJobType[],
  jobs: readonly NewJob[],
  { owner, pace, within }: HowStored,
): Promise<Map<number, Stands>> {
  const queryable = asQueryable(tx)
  await registry.ensure(types, queryable)
  if (pace !== undefined) await spread(store.operate, jobs, pace, queryable)
  const ended = await backpressure.admit(jobs, queryable)
  try {
    const standing = await storeWithin(store, jobs, queryable, !jobs.some((job) => job.brought), owner, within)
    ended(true)
    return standing
  } catch (error) {
    ended(false)
    const problem = explained(error, idsOf(jobs))
    if (!(problem instanceof HoldfastError) || problem.code !== 'unknown_type') throw problem
    // A type we have just registered is unknown only to a transaction whose snapshot is older.
    const unseen = types.find(({ type }) => problem.message.includes(`"${type}"`))
    if (!unseen) throw problem
    const message = `${unseen.type} was registered after this transaction took its snapshot; run it again`
    throw new HoldfastError('unknown_type', message, { field: 'type', cause: error })
  }
}

/**
 * Stores jobs in a transaction of our own. The ids were made here, so a second try cannot add a job twice: if the first was committed, the
 * second finds its own ids. An id that the producer chose may have been stored by the first try or by somebody else, so it is then
 * answered as existing.
 */
async function storeDurably(
  { store, registry, backpressure, batcher }: Counter,
  types: readonly AnyJobType[],
  jobs: readonly NewJob[],
  { owner, pace, within }: HowStored,
  encrypt: () => Promise<void> | undefined,
  persistence: Persistence,
): Promise<Map<number, Stands>> {
  const brought = jobs.some((job) => job.brought)
  const [only] = jobs
  const together = jobs.length === 1 && only && waitsForNobody(only) && !within ? only : undefined
  let encrypted = false
  let ended: AdmissionEnd | undefined
  try {
    const standing = await untilStored(persistence, store.database.patienceMs, async (attempt) => {
      const fresh = attempt === 1 && !brought
      const encrypting = encrypted ? undefined : encrypt()
      if (encrypting) await encrypting
      encrypted = true
      await registry.ensure(types)
      if (pace !== undefined && !ended) await spread(store.operate, jobs, pace, undefined)
      ended ??= await backpressure.admit(jobs)
      const stored =
        fresh && together
          ? await batcher.add(together, owner)
          : endOfStatement(jobs, 0) === jobs.length && !within
            ? await store.enqueue(jobs, { fresh, keysTaken: false, wakeAlways: false, owner })
            : await store.database.transaction((tx) => storeWithin(store, jobs, tx, fresh, owner, within))
      if (attempt > 1) forgetOwn(stored, jobs)
      return stored
    })
    ended?.(true)
    return standing
  } catch (error) {
    ended?.(false)
    throw explained(error, idsOf(jobs))
  }
}

async function storeWithin(
  store: Store,
  jobs: readonly NewJob[],
  tx: Queryable,
  fresh: boolean,
  owner: string | undefined,
  within: Within | undefined,
): Promise<Map<number, Stands>> {
  if (!within) return storeOn(store, jobs, tx, fresh, owner)
  let standing = new Map<number, Stands>()
  await within(tx, async () => {
    standing = await storeOn(store, jobs, tx, fresh, owner)
    return jobs.filter((_, index) => (standing.get(index)?.what ?? 'queued_behind') === 'queued_behind').map(({ id }) => id)
  })
  return standing
}

/**
 * Stores jobs in as many statements as they need. One statement before them takes all keys: taken part by part, two large enqueues
 * with the same keys could deadlock.
 */
async function storeOn(
  store: Store,
  jobs: readonly NewJob[],
  tx: Queryable,
  fresh: boolean,
  owner: string | undefined,
): Promise<Map<number, Stands>> {
  const inOne = endOfStatement(jobs, 0) === jobs.length
  const keysTaken = !inOne && jobs.some((job) => job.idempotencyKey !== null)
  const standing = keysTaken ? await store.takeKeys(jobs, tx, owner) : new Map<number, Stands>()
  for (let start = 0, end = 0; start < jobs.length; start = end) {
    end = endOfStatement(jobs, start)
    const indexes = Array.from({ length: end - start }, (_, i) => start + i).filter((index) => !standing.has(index))
    const part = indexes.map((index) => jobs[index] as NewJob)
    if (part.length === 0) continue
    const known = await store.enqueue(part, { fresh, keysTaken, wakeAlways: true, owner, tx })
    for (const [index, stands] of known) standing.set(indexes[index] as number, stands)
  }
  return standing
}

/** The index after the last job of the statement that begins with the job at `start`. */
function endOfStatement(jobs: readonly NewJob[], start: number): number {
  const most = Math.min(jobs.length, start + mostPerStatement.jobs)
  let characters = 0
  for (let index = start; index < most; index++) {
    characters += (jobs[index] as NewJob).payload.length
    if (characters > mostPerStatement.characters && index > start) return index
  }
  return most
}

/** A job found under an id that was made for this very call is the one an earlier try of it stored. */
function forgetOwn(standing: Map<number, Stands>, jobs: readonly NewJob[]): void {
  for (const [index, { id, what }] of standing) {
    const job = jobs[index] as NewJob
    if (id === job.id && what === 'existing' && !job.brought) standing.delete(index)
  }
}

function refuseRepeatedIds(jobs: readonly NewJob[]): void {
  const seen = new Set<string>()
  for (const [index, job] of jobs.entries()) {
    if (!job.brought) continue
    if (seen.has(job.id)) {
      const error = refused('id', `${job.id} is given to two jobs of one enqueue`)
      error.index = index
      throw error
    }
    seen.add(job.id)
  }
}
