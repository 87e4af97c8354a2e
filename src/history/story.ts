import { decodePayload } from '../job/payload.js'
import type { AttemptRow, JobRow } from '../store/rows.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'

/** Everything there is to say about one job. */
export interface JobStory {
  id: string
  type: string
  status: string
  lane: string
  priority: number
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
    return job && { ...describeJob(job), attempts: (await store.attempts(id)).map(attempt) }
  } catch (error) {
    throw explained(error)
  }
}

/** The stories of many jobs in two statements, in the order of the ids. One that is not kept is missing. */
export async function readStories(store: Store, ids: readonly string[]): Promise<JobStory[]> {
  const jobs = new Map((await store.jobs(ids)).map((job) => [job.id, { ...describeJob(job), attempts: [] as Attempt[] }]))
  for (const row of await store.attemptsOf(ids)) jobs.get(row.job)?.attempts.push(attempt(row))
  return ids.map((id) => jobs.get(id)).filter((story) => story !== undefined)
}

export function describeJob(job: JobRow): Omit<JobStory, 'attempts'> {
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
    createdAt: new Date(job.created_at),
    dueAt: date(job.due_at),
    startedAt: date(job.started_at),
    finishedAt: date(job.finished_at),
  }
}

function attempt(row: AttemptRow): Attempt {
  const { attempt, outcome, worker, error } = row
  return { attempt, outcome, startedAt: date(row.started_at), endedAt: new Date(row.ended_at), worker, error }
}

function date(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
