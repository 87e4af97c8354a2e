import { AssertionError } from 'node:assert'
import { inspect } from 'node:util'
import type { CallerTransaction } from '../job/caller-transaction.js'
import { type Duration, formatDuration, toMilliseconds } from '../job/duration.js'
import { refuseUnknown } from '../job/refused.js'
import type { EnqueuedJob } from './enqueued.js'
import { isPartOf } from './is-part-of.js'

/** What else must be true of the jobs that are looked for. Whatever is left out does not matter. */
export interface Expectation {
  /**
   * Exactly this many.
   * @default at least one
   */
  count?: number
  /**
   * Due this much after it was enqueued, give or take a second.
   * @default none: not compared
   */
  delay?: Duration
  /**
   * Due at this time.
   * @default none: not compared
   */
  runAt?: Date
  /**
   * Of this priority.
   * @default none: not compared
   */
  priority?: number
  /**
   * With this idempotency key.
   * @default none: not compared
   */
  idempotencyKey?: string
  /**
   * Looks inside this open transaction, the one given to enqueue as `tx`: its jobs count although they are not committed.
   * @default what is committed
   */
  tx?: CallerTransaction
}

/** Any part of a payload: of an object some of its fields, of an array every element. */
export type PartOf<Payload> = Payload extends readonly unknown[]
  ? { [Place in keyof Payload]: PartOf<Payload[Place]> }
  : Payload extends object
    ? { [Key in keyof Payload]?: PartOf<Payload[Key]> }
    : Payload

const described = ['delay', 'runAt', 'priority', 'idempotencyKey', 'tx']

/** Refuses what is misspelt: an expectation that nobody reads would be met by every job. `count`: whether it may be said how many. */
export function checkExpectation(expectation: Expectation, { count }: { count: boolean }): void {
  refuseUnknown(expectation, count ? ['count', ...described] : described)
}

const toleranceMs = 1_000
const mostShown = 20

/** The jobs among `all` that were looked for; throws when they are not as many as expected. */
export function expectEnqueued<Payload>(
  all: readonly EnqueuedJob<Payload>[],
  type: string,
  payload: unknown,
  expectation: Expectation,
): EnqueuedJob<Payload>[] {
  const found = all.filter((job) => job.type === type && fits(job, payload, expectation))
  const { count } = expectation
  if (count === undefined ? found.length > 0 : found.length === count) return found
  const number = count === undefined ? 'a job' : count === 1 ? 'exactly 1 job' : `exactly ${count} jobs`
  const but = found.length === 0 ? 'there is none' : `there are ${found.length}`
  throw failure(`expected ${number} ${describe(type, payload, expectation)}, but ${but}`, all, payload)
}

/** Throws when any job is what was looked for. */
export function expectNotEnqueued(
  all: readonly EnqueuedJob[],
  type: string,
  payload: unknown,
  expectation: Omit<Expectation, 'count'>,
): void {
  const found = all.filter((job) => job.type === type && fits(job, payload, expectation))
  if (found.length === 0) return
  throw failure(`expected no job ${describe(type, payload, expectation)}, but there is ${found.length}`, all, payload)
}

function fits(job: EnqueuedJob, payload: unknown, { delay, runAt, priority, idempotencyKey }: Expectation): boolean {
  if (payload !== undefined && !isPartOf(payload, job.payload)) return false
  if (priority !== undefined && job.priority !== priority) return false
  if (idempotencyKey !== undefined && job.idempotencyKey !== idempotencyKey) return false
  const due = (job.dueAt ?? job.createdAt).getTime()
  if (runAt !== undefined && due !== runAt.getTime()) return false
  return delay === undefined || Math.abs(due - job.createdAt.getTime() - toMilliseconds(delay, 'delay')) <= toleranceMs
}

function describe(type: string, payload: unknown, { delay, runAt, priority, idempotencyKey }: Expectation): string {
  const parts = [
    type,
    payload === undefined ? '' : `with ${show(payload)} in its payload`,
    delay === undefined ? '' : `delayed by ${formatDuration(toMilliseconds(delay, 'delay'))}`,
    runAt === undefined ? '' : `due at ${runAt.toISOString()}`,
    priority === undefined ? '' : `of priority ${priority}`,
    idempotencyKey === undefined ? '' : `with the idempotency key ${show(idempotencyKey)}`,
  ]
  return parts.filter((part) => part !== '').join(' ')
}

/** What there is instead, so that nobody has to run the test again to see it. */
function failure(sentence: string, all: readonly EnqueuedJob[], expected: unknown): AssertionError {
  const message = all.length === 0 ? `${sentence}; the queue is empty` : `${sentence}\nin the queue:\n${listJobs(all)}`
  return new AssertionError({ message, actual: all.map((job) => job.payload), expected, operator: 'enqueued' })
}

/** One line for each job, and below it what there is to add. */
export function listJobs<Job extends EnqueuedJob>(jobs: readonly Job[], more: (job: Job) => string[] = () => []): string {
  const lines = jobs.slice(0, mostShown).flatMap((job) => {
    const waits = job.dueAt === null ? 0 : job.dueAt.getTime() - job.createdAt.getTime()
    const due = job.status === 'scheduled' || job.status === 'failed' ? `, due ${job.dueAt?.toISOString()}` : ''
    const delay = due !== '' && waits > 0 ? ` (${formatDuration(waits)} after it was enqueued)` : ''
    const key = job.idempotencyKey === null ? '' : `, key ${show(job.idempotencyKey)}`
    const line = `  ${job.type} ${job.status}${due}${delay}, priority ${job.priority}${key}: ${show(job.payload)}`
    return [line, ...more(job).map((words) => `    ${words}`)]
  })
  if (jobs.length > mostShown) lines.push(`  and ${jobs.length - mostShown} more`)
  return lines.join('\n')
}

function show(value: unknown): string {
  const text = inspect(value, { depth: 4, breakLength: Number.POSITIVE_INFINITY, maxArrayLength: 10, maxStringLength: 200 })
  return text.length > 500 ? `${text.slice(0, 500)}…` : text
}
