import { decodePayload } from '../job/payload.js'
import type { ApprovalRow, AttemptRow } from '../store/rows.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'

/** Everything there is to say about one job. */
export interface JobStory {
  id: string
  type: string
  status: string
  lane: string
  priority: number | null
  /** The attempt that runs, ran last or comes next. */
  attempt: number
  maxAttempts: number
  payload: unknown
  idempotencyKey: string | null
  createdAt: Date
  dueAt: Date | null
  startedAt: Date | null
  finishedAt: Date | null
  attempts: Attempt[]
  /** What was changed about it by whom. */
  changes: Change[]
  /** Undefined where it needed none. */
  approval: StoryApproval | undefined
}

export interface Change {
  move: 'set_priority' | 'reschedule' | 'run_now'
  by: string
  why: string | null
  before: Record<string, unknown>
  after: Record<string, unknown>
  at: Date
}

export interface StoryApproval {
  quorum: number
  deadline: Date | null
  onDeadline: 'cancel' | 'approve'
  verdicts: { by: string; verdict: 'approve' | 'reject'; why: string | null; at: Date }[]
}

export interface Attempt {
  attempt: number
  outcome: string
  startedAt: Date | null
  endedAt: Date
  worker: string | null
  error: unknown
}

export async function readStory(store: Store, id: string): Promise<JobStory | undefined> {
  try {
    const job = await store.job(id)
    if (!job) return undefined
    return {
      id: job.id,
      type: job.type,
      status: job.status,
      lane: job.lane,
      priority: job.priority,
      attempt: job.attempt,
      maxAttempts: job.max_attempts,
      payload: decodePayload(job.payload),
      idempotencyKey: job.idempotency_key,
      createdAt: job.created_at,
      dueAt: job.due_at,
      startedAt: job.started_at,
      finishedAt: job.finished_at,
      attempts: (await store.attempts(id)).map(attempt),
      changes: (await store.movesOf(id)).map(({ actor: by, ...change }) => ({ by, ...change })),
      approval: approval(await store.approvalOf(id)),
    }
  } catch (error) {
    throw explained(error)
  }
}

function attempt(row: AttemptRow): Attempt {
  const { attempt, outcome, started_at: startedAt, ended_at: endedAt, worker, error } = row
  return { attempt, outcome, startedAt, endedAt, worker, error }
}

function approval(rows: readonly ApprovalRow[]): StoryApproval | undefined {
  const [first] = rows
  if (!first) return undefined
  const { quorum, deadline, on_deadline: onDeadline } = first
  const verdicts = rows.flatMap(({ actor, verdict, comment, at }) =>
    actor === null ? [] : [{ by: actor, verdict, why: comment, at }],
  )
  return { quorum, deadline, onDeadline, verdicts }
}
