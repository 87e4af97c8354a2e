import type pg from 'pg'
import { wallMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { ClaimedJob } from '../job/claimed.js'
import { newJobId } from '../job/id.js'
import type { LogLevel } from '../job/log-entry.js'
import type { Outcome } from '../job/outcome.js'
import { decodePayload, encodePayload } from '../job/payload.js'
import { refuseUnknown, wholeNumber } from '../job/refused.js'
import type { JobType } from '../job/type.js'
import { Attempt } from '../run/attempt.js'
import { decide } from '../settle/decide.js'
import { HandServices } from './hand-services.js'

/** What the handler is told of its job. What is not given is as on the first attempt of a new job. */
export interface RunJobOptions {
  /**
   * Which attempt it is.
   * @range 1 to 1,000,000
   * @default 1, or what comes after `after`
   */
  attempt?: number
  /**
   * How often the job may be tried.
   * @range 1 to 20
   * @default what its type says
   */
  maxAttempts?: number
  /**
   * Its priority.
   * @range 0 to 9
   * @default what its type says
   */
  priority?: number
  /**
   * Its id.
   * @default a new one, or that of `after`
   */
  id?: string
  /**
   * The tick that it was made for, as `ctx.scheduledFor`.
   * @default none: no schedule made it
   */
  scheduledFor?: Date
  /**
   * What `ctx.lastCheckpoint()` answers.
   * @default that of `after`, or none
   */
  lastCheckpoint?: unknown
  /**
   * What `ctx.waitFor(name)` answers. A wait for any other signal blocks the job.
   * @default {}
   */
  signals?: Record<string, unknown>
  /**
   * The next attempt after this run: with its steps and checkpoint, and the time that it slept or waited for is over.
   * @default none: it is the first
   */
  after?: JobRun
  /**
   * What `ctx.parents()` answers, in a task of a workflow.
   * @default {}
   */
  parents?: Record<string, unknown>
  /**
   * What `ctx.execution()` says the execution was started with, in a task of a workflow.
   * @default none
   */
  input?: unknown
  /**
   * Cancels the job when it fires: `ctx.signal` fires with a JobCancelledError.
   * @default none
   */
  signal?: AbortSignal
}

const known = [
  ...['attempt', 'maxAttempts', 'priority', 'id', 'scheduledFor', 'lastCheckpoint', 'signals', 'after', 'parents', 'input'],
  'signal',
]

/** One step of a run. */
export interface RunStep {
  name: string
  kind: 'step' | 'once' | 'sleep' | 'signal'
  /** Waiting: the handler sleeps, or waits for a signal. */
  state: 'waiting' | 'completed'
  /** What it returned, or what came with the signal. */
  result: unknown
}

/** What became of a handler that was run by hand. */
export interface JobRun<Result = unknown> {
  readonly id: string
  readonly attempt: number
  /** What the job would be now. `failed`: it is tried again; `scheduled`: it sleeps or was snoozed; `blocked`: it waits for a signal. */
  readonly status: 'completed' | 'failed' | 'dead' | 'scheduled' | 'blocked' | 'cancelled'
  /** What the handler returned, as it would be stored. */
  readonly result: Result | undefined
  /** What the handler threw. */
  readonly error: Error | undefined
  /** When it would go on, in milliseconds, without jitter; null: it has ended, or waits for a signal without a timeout. */
  readonly nextInMs: number | null
  readonly log: { level: LogLevel; line: string }[]
  readonly progress: { fraction: number; note: string | null }[]
  /** What was kept by `ctx.checkpoint`, in this run or before it. */
  readonly checkpoint: unknown
  /** In the order they were stored, with those of the runs before. */
  readonly steps: RunStep[]
}

const statuses = {
  complete: 'completed',
  retry: 'failed',
  exhaust: 'dead',
  die: 'dead',
  poison: 'dead',
  snooze: 'scheduled',
  block: 'blocked',
  // Nobody shuts down a run by hand.
  hand_back: 'failed',
} as const

/** Runs `work` in a transaction, for `ctx.completeWith`. */
export type Transact = <Answer>(work: (client: pg.PoolClient) => Promise<Answer>) => Promise<Answer>

/**
 * Runs a handler once, with a context like that of a worker and without worker or database, and tells everything it did. The payload is
 * stored and read back as JSON and checked by the schema of the type, and the timeout of the type holds. Sleeps and waits end the run at once.
 * @example
 * import { runJob } from 'holdfast/testing'
 *
 * const run = await runJob(sendEmail, { to: 'ada@example.com' }, { attempt: 2 })
 * console.log(run.status, run.result, run.error, run.log, run.steps)
 */
export function runJob<Input, Output, Result>(
  type: JobType<Input, Output, Result>,
  payload: Input,
  options: RunJobOptions = {},
): Promise<JobRun<Result>> {
  return runJobWith(type, payload, options, () => {
    const problem =
      'runJob has no database for ctx.completeWith; use the runJob of a scratchQueue, or pass a transaction of your own'
    throw new HoldfastError('unknown_transaction', problem, { field: 'tx' })
  })
}

export async function runJobWith<Input, Output, Result>(
  type: JobType<Input, Output, Result>,
  payload: Input,
  options: RunJobOptions,
  transact: Transact,
): Promise<JobRun<Result>> {
  refuseUnknown(options, known)
  if (!type.run) throw new HoldfastError('missing_handler', `${type.type} has no run function, so it cannot be run`)
  const { after, signal, attempt, maxAttempts, priority } = options
  if (attempt !== undefined) wholeNumber(attempt, 'attempt', 1, 1_000_000)
  if (maxAttempts !== undefined) wholeNumber(maxAttempts, 'maxAttempts', 1, 20)
  if (priority !== undefined) wholeNumber(priority, 'priority', 0, 9)
  const spent = after?.status === 'failed' ? 1 : 0
  const job = {
    id: options.id ?? after?.id ?? newJobId(),
    lease: '1',
    type,
    lane: 1,
    priority: priority ?? type.priority,
    attempt: attempt ?? (after ? after.attempt + spent : 1),
    maxAttempts: maxAttempts ?? type.maxAttempts,
    createdAtMs: wallMs(),
    payload: encodePayload(payload),
    version: type.version,
    scheduledForMs: options.scheduledFor?.getTime() ?? null,
    claimedAtMs: 0,
  }
  const services = new HandServices(options, transact)
  const { outcome, thrown } = await perform(job, services, signal)
  const settlement = decide(outcome, job, type.backoff, () => 0)
  const { failure, delayMs } = settlement
  const result = settlement.result ?? services.result
  return {
    id: job.id,
    attempt: job.attempt,
    status: signal?.aborted ? 'cancelled' : statuses[settlement.move],
    result: (result === null ? undefined : decodePayload(result)) as Result | undefined,
    error:
      thrown instanceof Error ? thrown : failure ? Object.assign(new Error(failure.message), { name: failure.name }) : undefined,
    nextInMs: delayMs,
    ...services.seen(),
  }
}

/** An attempt that keeps what its handler threw, where a worker keeps a description of it. */
class ByHand extends Attempt {
  thrown: unknown

  protected override async call(payload: unknown): Promise<unknown> {
    try {
      return await super.call(payload)
    } catch (error) {
      this.thrown = error
      throw error
    }
  }
}

/** Resolves when the attempt has ended, which a handler that sleeps, waits or takes too long does not see. */
function perform(
  job: ClaimedJob,
  services: HandServices,
  signal: AbortSignal | undefined,
): Promise<{ outcome: Outcome; thrown: unknown }> {
  return new Promise((resolve) => {
    const attempt: ByHand = new ByHand(job, services, {
      ended(_, outcome) {
        clearTimeout(timer)
        signal?.removeEventListener('abort', cancel)
        resolve({ outcome, thrown: attempt.thrown })
      },
      overran() {},
      escaped() {},
    })
    const timer = setTimeout(() => attempt.timeOut(), job.type.timeoutMs)
    const cancel = () => attempt.cancel()
    if (signal?.aborted) cancel()
    else signal?.addEventListener('abort', cancel, { once: true })
    attempt.start()
  })
}
