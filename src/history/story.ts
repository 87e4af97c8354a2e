import type { LogLevel } from '../job/log-entry.js'
import type { AttemptOutcome } from '../job/outcome.js'
import { decodePayload } from '../job/payload.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import type { JobStatus } from '../job/state.js'
import type { Privacy } from '../privacy/privacy.js'
import type { InspectStore } from '../store/inspect-store.js'
import type { ApprovalRow, AttemptRow, JobRow, MoveRow, OneJobRow } from '../store/rows.js'
import { explained } from '../store/sqlstate.js'
import { type JobSignal, type JobStep, shownSignal, shownStep } from './steps.js'

/** Everything that is kept about one job. */
export interface JobStory {
  id: string
  type: string
  status: JobStatus
  lane: string
  priority: number
  /** The attempt that runs, ran last or comes next. */
  attempt: number
  maxAttempts: number
  payload: unknown
  idempotencyKey: string | null
  concurrencyKey: string | null
  tags: readonly string[]
  /** The service that enqueued it over HTTP; null if the library or SQL did. */
  owner: string | null
  createdAt: Date
  dueAt: Date | null
  startedAt: Date | null
  finishedAt: Date | null
  /** The version of its payload. */
  version: number
  /** How long one attempt may take, as its type has it now. */
  timeoutMs: number
  /** Whether a replay has to be confirmed. */
  sensitive: boolean
  /** The span that asked for it. */
  traceparent: string | null
  /** Until when it has to start; null: it need not, has started or has ended. */
  startBy: Date | null
  /** The batch it is a member of. */
  batch: string | null
  /** The execution it is a task of. */
  execution: { id: string; task: string; item: number | null } | null
  /** The schedule that made it, and for which of its ticks. */
  schedule: { name: string; tick: Date } | null
  /** The fingerprint of its last failure; null: no attempt failed. */
  errorGroup: string | null
  /** What its handler returned, redacted; undefined if it returned nothing or it is not kept. `wait` has all of it. */
  result: unknown
  attempts: JobAttempt[]
  /** The progress that its handler reported last; undefined if it never did. */
  progress: JobProgress | undefined
  /** What people and enqueues changed about it, and who did. */
  changes: JobChange[]
  /** Undefined if it needed no approval. */
  approval: JobApproval | undefined
  /** What its handler has done step by step, in the order of the calls. */
  steps: JobStep[]
  /** What was sent to it, first to last. */
  signals: JobSignal[]
}

/** How far a handler said it is. */
export interface JobProgress {
  attempt: number
  /** From 0 to 1. */
  fraction: number
  note: string | null
  at: Date
}

/** One line a handler logged. Ids only grow. */
export interface LogLine {
  id: string
  attempt: number
  at: Date
  level: LogLevel
  line: string
}

/** Something that was changed about a job, by whom and why. */
export interface JobChange {
  /**
   * `replace` and `debounce`: a unique enqueue gave the job another body. Of these the last twenty are kept. `resume`: `before` says who had
   * cancelled it.
   */
  move: 'set_priority' | 'reschedule' | 'run_now' | 'replay' | 'resume' | 'replace' | 'debounce' | 'bury'
  by: string
  why: string | null
  before: Record<string, unknown>
  after: Record<string, unknown>
  at: Date
}

/** The approval a job needed, and what people said. */
export interface JobApproval {
  quorum: number
  /** Counts how often the payload was replaced since somebody asked for approval, from 1: what a verdict is about. */
  revision: number
  deadline: Date | null
  onDeadline: 'cancel' | 'approve'
  verdicts: { by: string; verdict: 'approve' | 'reject'; why: string | null; at: Date }[]
}

/** One attempt of a job, as its history has it. */
export interface JobAttempt {
  attempt: number
  /** How it ended. */
  outcome: AttemptOutcome
  startedAt: Date | null
  endedAt: Date
  worker: string | null
  /** Which code that worker ran, if it said so. */
  build: string | null
  error: unknown
}

/** The job as people see it, redacted. */
export async function readStory(store: InspectStore, id: string, privacy: Privacy): Promise<JobStory | undefined> {
  try {
    const job = await store.job(id)
    if (!job) return undefined
    const [attempts, said, changes, approvals, steps, signals] = await Promise.all([
      store.attempts(id),
      store.progressOf(id),
      store.movesOf(id),
      store.approvalOf(id),
      store.steps.of(id),
      store.steps.signalsOf(id),
    ])
    return {
      ...shownJob(job, privacy),
      ...originOf(job.origin),
      result: job.result === null ? undefined : privacy.shownResult(job.result, job),
      attempts: attempts.map(attempt),
      progress: said && { ...said, at: new Date(said.at) },
      changes: changes.map((row) => change(row, (payload) => privacy.shown(payload, job))),
      approval: approval(approvals),
      steps: steps.map((step) => shownStep(step, job, privacy)),
      signals: signals.map((signal) => shownSignal(signal, job, privacy)),
    }
  } catch (error) {
    throw explained(error)
  }
}

/** Log lines of a job, oldest first: at most `limit` (1,000) after the one with the id `after`. */
export async function readLog(store: InspectStore, id: string, options: { after?: string; limit?: number }): Promise<LogLine[]> {
  refuseUnknown(options, ['after', 'limit'])
  const { after = '0' } = options
  const limit = wholeNumber(options.limit ?? 1_000, 'limit', 1, 1_000)
  if (!/^\d{1,18}$/.test(after)) throw refused('after', 'must be the id of a log line')
  try {
    return (await store.logLines(id, after, limit)).map((row) => ({ ...row, at: new Date(row.at) }))
  } catch (error) {
    throw explained(error)
  }
}

/** The stories of many jobs in two statements, in the order of the ids. One that is not kept is missing. */
export async function readStories(
  store: InspectStore,
  ids: readonly string[],
): Promise<(JobSummary & { attempts: JobAttempt[] })[]> {
  const jobs = new Map((await store.jobs(ids)).map((job) => [job.id, { ...describeJob(job), attempts: [] as JobAttempt[] }]))
  for (const row of await store.attemptsOf(ids)) jobs.get(row.job)?.attempts.push(attempt(row))
  return ids.map((id) => jobs.get(id)).filter((story) => story !== undefined)
}

/** What a story says of where its job comes from. */
type OriginField = Exclude<
  keyof JobStory,
  keyof JobSummary | 'result' | 'attempts' | 'progress' | 'changes' | 'approval' | 'steps' | 'signals'
>

function originOf({ version, timeout, sensitive, traceparent, ...origin }: OneJobRow['origin']): Pick<JobStory, OriginField> {
  const { group, kind, task, item, schedule, tick, startBy, fingerprint } = origin
  return {
    ...{ version, timeoutMs: timeout, sensitive, traceparent, errorGroup: fingerprint },
    startBy: date(startBy),
    batch: kind === 'batch' ? group : null,
    execution: kind === 'execution' && group !== null ? { id: group, task: task ?? '', item } : null,
    schedule: schedule === null || tick === null ? null : { name: schedule, tick: new Date(tick) },
  }
}

/** A job as it is now, without result, attempts, changes and where it comes from. */
export type JobSummary = Omit<
  JobStory,
  | 'result'
  | 'attempts'
  | 'progress'
  | 'changes'
  | 'approval'
  | 'steps'
  | 'signals'
  | 'version'
  | 'timeoutMs'
  | 'sensitive'
  | 'traceparent'
  | 'startBy'
  | 'batch'
  | 'execution'
  | 'schedule'
  | 'errorGroup'
>

/** A job as people see it. */
export function shownJob(job: JobRow, privacy: Privacy): JobSummary {
  return { ...describeJob({ ...job, payload: 'null' }), payload: privacy.shown(job.payload, job) }
}

export function describeJob(job: JobRow): JobSummary {
  return {
    id: job.id,
    type: job.type,
    status: job.status as JobStatus,
    lane: job.lane,
    priority: job.priority,
    attempt: job.attempt,
    maxAttempts: job.max_attempts,
    payload: decodePayload(job.payload),
    idempotencyKey: job.idempotency_key,
    concurrencyKey: job.concurrency_key,
    tags: job.tags ?? [],
    owner: job.owner,
    createdAt: new Date(job.created_at),
    dueAt: date(job.due_at),
    startedAt: date(job.started_at),
    finishedAt: date(job.finished_at),
  }
}

function attempt(row: AttemptRow): JobAttempt {
  const { attempt, worker, build, error } = row
  const outcome = row.outcome as AttemptOutcome
  return { attempt, outcome, startedAt: date(row.started_at), endedAt: new Date(row.ended_at), worker, build, error }
}

function date(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}

function change({ actor: by, at, before, after, ...row }: MoveRow, shown: (payload: string) => unknown): JobChange {
  return { by, ...row, before: withPayload(before, shown), after: withPayload(after, shown), at: new Date(at) }
}

/** A payload that was changed is kept as the exact text it was stored as. */
function withPayload(kept: Record<string, unknown>, shown: (payload: string) => unknown): Record<string, unknown> {
  return typeof kept.payload === 'string' ? { ...kept, payload: shown(kept.payload) } : kept
}

function approval(rows: readonly ApprovalRow[]): JobApproval | undefined {
  const [first] = rows
  if (!first) return undefined
  const { quorum, revision, deadline, on_deadline: onDeadline } = first
  const verdicts = rows.flatMap(({ actor, verdict, comment, at }) =>
    actor === null ? [] : [{ by: actor, verdict, why: comment, at: new Date(at) }],
  )
  return { quorum, revision, deadline: date(deadline), onDeadline, verdicts }
}
