import type pg from 'pg'
import type { CallerTransaction } from './caller-transaction.js'
import type { Duration } from './duration.js'
import type { StepInHand, StepOptions } from './steps.js'

/** What a handler is told about its job. */
export interface JobInHand {
  readonly id: string
  readonly type: string
  readonly priority: number
  /** The number of this attempt, from 1. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly createdAt: Date
}

/**
 * What a handler is told about the attempt it makes, and what it can do with it. Name what you need of it,
 * `({ job, signal }) => …`: a copy by `{ ...context }` has the job and nothing else. A class rather than an interface, so
 * that the compiler knows it too.
 */
export abstract class RunContext {
  /** The job that runs: its id, type, priority and attempt. */
  abstract readonly job: JobInHand
  /** The tick that the job was made for, where a schedule made it; undefined otherwise. The same on every attempt, however late. */
  abstract get scheduledFor(): Date | undefined
  /** Fires when the attempt should stop: timeout, cancelled job, lost lease or shutdown. The reason says which. */
  abstract get signal(): AbortSignal
  /**
   * Grows with every attempt at this job. A store that remembers the largest fence it has seen and refuses smaller ones
   * cannot be written to by an attempt that was given up while it was still running.
   */
  abstract get fence(): bigint
  /**
   * Makes sure the lease is still held and stays so for at least this long, even if this process stops renewing it.
   * Rejects with LeaseLostError when another worker may have the job already.
   */
  abstract get extendLease(): (duration: Duration) => Promise<void>
  /** Says how far the handler is, from 0 to 1, and what it is at. People see the latest, within a second. */
  abstract get progress(): (fraction: number, note?: string) => void
  /** Adds a line to the job's log: at most 4,000 characters, at most 10,000 lines an attempt. `log.warn`, `log.error` too. */
  abstract get log(): JobLog
  /**
   * Keeps where the next attempt is to go on, should this one fail: anything JSON can hold, at most 64 KB. Durable once it
   * resolves; rejects with LeaseLostError when another worker may have the job already.
   */
  abstract get checkpoint(): (value: unknown) => Promise<void>
  /** What the last checkpoint of any attempt at this job kept; undefined: there is none, begin at the beginning. */
  abstract get lastCheckpoint(): () => Promise<unknown>
  /**
   * Completes the job in a transaction, together with what the handler writes there: `return ctx.completeWith(async (tx) => …)`, whose
   * callback gets a `pg` client inside of BEGIN and returns the result, or `await ctx.completeWith(tx, result)` last in a transaction of
   * your own. Rejects with LeaseLostError, and nothing is committed, where another worker may have the job already.
   */
  abstract get completeWith(): CompleteWith
  /**
   * Runs a part of the work once: what it returned (JSON, at most 64 KB) is stored, and a later attempt is given that instead of running it
   * again. Steps may run in parallel (`Promise.all`) and in loops, where the second of one name is `name#2`.
   */
  abstract get step(): <Result>(
    name: string,
    run: (step: StepInHand) => Result | Promise<Result>,
    options?: StepOptions,
  ) => Promise<Result>
  /**
   * A step whose function is given a key that is the same in every attempt, to send along with what must not be done twice: a worker can die
   * after the effect and before the answer is stored.
   */
  abstract get once(): <Result>(
    name: string,
    run: (key: string, step: StepInHand) => Result | Promise<Result>,
    options?: StepOptions,
  ) => Promise<Result>
  /**
   * Sleeps without a slot or a lease: the attempt ends without being spent, and the job goes on from here after that time by the database's
   * clock. Hold nothing open meanwhile: what stands behind it runs in another attempt.
   */
  abstract get sleep(): (duration: Duration, name?: string) => Promise<void>
  /**
   * Waits, without a slot or a lease, for `holdfast.signal(id, name, payload)`, and resolves with its payload; undefined: the timeout came
   * first. A signal that was sent before is delivered at once, and each is delivered once.
   */
  abstract get waitFor(): <Payload = unknown>(name: string, options?: { timeout?: Duration }) => Promise<Payload | undefined>
  /** `return ctx.snooze('10m')` ends the attempt without spending it; the job is due again after that time. */
  abstract get snooze(): (duration: Duration) => Snooze
  /**
   * `return ctx.stop('30s', 'key')` when the other side said "too many requests": this job and all jobs of its concurrency
   * key, or of its whole type, wait that long. No attempt is spent.
   */
  abstract get stop(): (duration: Duration, what: 'type' | 'key') => Snooze
  /** In a workflow: what the parents of this task returned, by their names. Read once. Of any other job: nothing. */
  abstract get parents(): () => Promise<Record<string, unknown>>
  /** In a workflow: which execution and task this job belongs to. Rejects with `not_found` for any other job. */
  abstract get execution(): () => Promise<ExecutionInHand>
}

/** The execution that a job is a task of. */
export interface ExecutionInHand<Input = unknown> {
  readonly id: string
  readonly workflow: string
  /** The name of the task that this job is. */
  readonly task: string
  /** Which item of a task with `each` it is, from 0; null for every other task. */
  readonly item: number | null
  /** What the execution was started with. */
  readonly input: Input
}

/** The two forms of `ctx.completeWith`. */
export interface CompleteWith {
  /** In a transaction of your own, which you commit: with any client that `enqueue` takes as `tx`. */
  <Result = undefined>(tx: CallerTransaction, result?: Result): Promise<Result>
  /** In a transaction of the worker's, on a connection of its pool, which it commits when the callback has returned. */
  <Result>(work: (tx: pg.PoolClient) => Promise<Result>): Promise<Result>
}

/** `log(line)` is `log.info(line)`. */
export interface JobLog {
  (line: string): void
  /** A line of level info. */
  info(line: string): void
  /** A line of level warn. */
  warn(line: string): void
  /** A line of level error. */
  error(line: string): void
}

/** The answer of a handler that wants to be called again later. */
export class Snooze {
  readonly delayMs: number
  readonly stop: 'type' | 'key' | undefined

  constructor(delayMs: number, stop?: 'type' | 'key') {
    this.delayMs = delayMs
    this.stop = stop
  }
}
