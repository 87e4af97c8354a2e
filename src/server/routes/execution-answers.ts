import type { ExecutionAnswer, ExecutionSummaryAnswer, TaskAnswer, WorkflowsAnswer } from '../../api/executions.js'
import type { WorkflowSummary } from '../../workflow/executions.js'
import type { ExecutionOverview, ExecutionSummary, ExecutionTask } from '../../workflow/story.js'

export function summaryAnswer(execution: ExecutionSummary): ExecutionSummaryAnswer {
  const { parentId, rerunOf, rerunFrom, createdAt, endedAt, id, workflow, version, status, owner } = execution
  return {
    ...{ id, workflow, version, status, owner },
    parent_id: parentId,
    rerun_of: rerunOf,
    rerun_from: rerunFrom,
    created_at: createdAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
  }
}

export function overviewAnswer(execution: ExecutionOverview): ExecutionAnswer {
  const { input, output, tasks } = execution
  return { ...summaryAnswer(execution), input, ...(output === undefined ? {} : { output }), tasks }
}

export function taskAnswer({ jobId, startedAt, endedAt, result, ...same }: ExecutionTask): TaskAnswer {
  return {
    ...same,
    job_id: jobId,
    started_at: startedAt?.toISOString() ?? null,
    ended_at: endedAt?.toISOString() ?? null,
    ...(result === undefined ? {} : { result }),
  }
}

export function workflowAnswer({ definedAt, ...same }: WorkflowSummary): WorkflowsAnswer['workflows'][number] {
  return { ...same, defined_at: definedAt.toISOString() }
}
