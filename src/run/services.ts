import type pg from 'pg'
import type { ClaimedJob } from '../job/claimed.js'
import type { LogEntry } from '../job/log-entry.js'
import type { FinishedStep, StepWait, StoredStep, WaitingStep } from '../job/steps.js'
import type { CompletionState, CompletionStatement } from '../store/completion-store.js'

/**
 * What a worker does for the handlers it runs. An attempt passes the object on as it is: a service that is added here, and to the row
 * below, reaches inline and isolated handlers alike. Each takes the job and one argument that JSON can hold, because an isolated
 * handler calls it from another thread or process.
 */
export interface AttemptServices {
  /** False: the attempt no longer holds its lease. */
  extendLease(job: ClaimedJob, ms: number): Promise<boolean>
  log(job: ClaimedJob, entry: LogEntry): void
  /** False: the attempt no longer holds its lease. */
  saveCheckpoint(job: ClaimedJob, json: string): Promise<boolean>
  readCheckpoint(job: ClaimedJob): Promise<string | null>
  /** The statement that completes the attempt in the transaction it is run in, with what the handler returned as JSON. */
  completion(job: ClaimedJob, ended: { startedAgoMs: number; result: string | null }): Promise<CompletionStatement>
  /** What became of an attempt that was completed so. */
  completionStands(job: ClaimedJob): Promise<CompletionState>
  readSteps(job: ClaimedJob): Promise<StoredStep[]>
  /** False: the attempt no longer holds its lease. */
  saveStep(job: ClaimedJob, step: FinishedStep): Promise<boolean>
  /** Begins a sleep or wait, or looks whether it is over. */
  waitStep(job: ClaimedJob, step: WaitingStep): Promise<StepWait>
  /** Null: the job is no task of a workflow. */
  readTask(job: ClaimedJob): Promise<TaskInHand | null>
}

/** What only handlers have that run in the worker itself. */
export interface InlineServices extends AttemptServices {
  /** Runs the work in a transaction on a connection of the worker's. */
  transact?<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result>
}

/** The task that a job is, with JSON texts as they are stored; of a parent that did not run, null. */
export interface TaskInHand {
  execution: string
  workflow: string
  name: string
  item: number | null
  input: string
  parents: Record<string, string | null>
}

export type ServiceName = keyof AttemptServices

/** Whether an isolated handler waits for the answer of a service, or only sends what it has to say. */
const waitsForAnswer: Record<ServiceName, boolean> = {
  extendLease: true,
  log: false,
  saveCheckpoint: true,
  readCheckpoint: true,
  readTask: true,
  completion: true,
  completionStands: true,
  readSteps: true,
  saveStep: true,
  waitStep: true,
}

/** The services inside of a thread or process: each call is sent to the worker. */
export function servicesAcross(
  ask: (service: ServiceName, argument: unknown) => Promise<unknown>,
  send: (service: ServiceName, argument: unknown) => void,
): AttemptServices {
  const calls = Object.entries(waitsForAnswer).map(([name, waits]) => {
    const call = waits ? ask : send
    return [name, (_: ClaimedJob, argument: unknown) => call(name as ServiceName, argument)]
  })
  return Object.fromEntries(calls)
}

/** The worker's side of such a call. */
export function callService(services: AttemptServices, job: ClaimedJob, service: ServiceName, argument: unknown): unknown {
  return services[service](job, argument as never)
}
