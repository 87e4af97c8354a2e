import type { JobAnswer, JobSummaryAnswer, LogAnswer } from '../../api/jobs.js'
import type { Explanation } from '../../flow/explain.js'
import type { JobStory, JobSummary, LogLine } from '../../history/story.js'
import type { JobStatus } from '../../job/state.js'

/** What the library says about jobs, in the words of the API. */
export function summaryAnswer(job: JobSummary): JobSummaryAnswer {
  return {
    id: job.id,
    type: job.type,
    status: job.status as JobStatus,
    lane: job.lane,
    priority: job.priority,
    attempt: job.attempt,
    max_attempts: job.maxAttempts,
    payload: job.payload,
    idempotency_key: job.idempotencyKey,
    concurrency_key: job.concurrencyKey,
    tags: [...job.tags],
    owner: job.owner,
    created_at: job.createdAt.toISOString(),
    due_at: moment(job.dueAt),
    started_at: moment(job.startedAt),
    finished_at: moment(job.finishedAt),
  }
}

export function storyAnswer(story: JobStory): JobAnswer {
  const { progress, approval } = story
  return {
    ...summaryAnswer(story),
    version: story.version,
    timeout_ms: story.timeoutMs,
    sensitive: story.sensitive,
    traceparent: story.traceparent,
    start_by: moment(story.startBy),
    batch_id: story.batch,
    execution_id: story.execution?.id ?? null,
    task: story.execution?.task ?? null,
    item: story.execution?.item ?? null,
    schedule: story.schedule?.name ?? null,
    scheduled_for: moment(story.schedule?.tick ?? null),
    error_group: story.errorGroup,
    ...(story.result === undefined ? {} : { result: story.result }),
    attempts: story.attempts.map(({ attempt, outcome, startedAt, endedAt, worker, build, error }) => ({
      attempt,
      outcome,
      started_at: moment(startedAt),
      ended_at: endedAt.toISOString(),
      worker,
      build,
      error,
    })),
    progress: progress ? { ...progress, at: progress.at.toISOString() } : null,
    changes: story.changes.map((change) => ({ ...change, at: change.at.toISOString() })),
    approval: approval
      ? {
          quorum: approval.quorum,
          revision: approval.revision,
          deadline: moment(approval.deadline),
          on_deadline: approval.onDeadline,
          verdicts: approval.verdicts.map((verdict) => ({ ...verdict, at: verdict.at.toISOString() })),
        }
      : null,
    steps: story.steps.map(({ result, at, until, ...step }) => ({
      ...step,
      ...(result === undefined ? {} : { result }),
      at: at.toISOString(),
      until: moment(until),
    })),
    signals: story.signals.map((signal) => ({ ...signal, at: signal.at.toISOString() })),
  }
}

export function explanationAnswer(id: string, { type, status, gates }: Explanation) {
  return {
    id,
    type,
    status,
    gates: gates.map(({ gate, why, opens, opensInMs = null, heldBy = [] }) => ({
      gate,
      why,
      opens,
      opens_in_ms: opensInMs,
      held_by: heldBy,
    })),
  }
}

export function moment(time: Date | null): string | null {
  return time === null ? null : time.toISOString()
}

export function logAnswerOf(lines: readonly LogLine[]): LogAnswer {
  return { lines: lines.map(({ at, ...line }) => ({ ...line, at: at.toISOString() })) }
}
