import { anything, jobId, number, text, textOrNull, time, timeOrNull, why, yesOrNo } from './common.js'
import { jobRequest, tagsAsked } from './jobs.js'
import { answer, list, type Of, object } from './schema.js'

const { id, priority, concurrency_key, tags } = jobRequest.properties
const workflow = { type: 'string', minLength: 1, maxLength: 100, description: 'the name of a registered workflow' } as const
const taskName = { type: 'string', minLength: 1, maxLength: 200, description: 'the name of a task' } as const

export const startRequest = object(
  {
    workflow,
    version: { type: 'integer', minimum: 1, maximum: 2_147_483_647, description: 'which version; standard: the latest' },
    input: { description: 'any JSON; an execution without data has the input {}' },
    ...{ id, priority, concurrency_key, tags },
  },
  ['workflow', 'input'],
)
/** An execution to start, as the body of `POST /executions`. */
export type StartBody = Of<typeof startRequest>

export const executionId = { ...jobId, description: 'the id of an execution, a UUID of version 7' } as const
export const executionParams = object({ id: executionId }, ['id'])
export const startedAnswer = answer({ id: executionId, status: { enum: ['created', 'existing'] } })

const status = { enum: ['running', 'completed', 'failed', 'cancelled'] } as const
const taskStatus = { enum: ['blocked', 'started', 'completed', 'dead', 'cancelled', 'discarded', 'skipped'] } as const
const summaryFields = {
  id: executionId,
  workflow: text,
  version: number,
  status,
  owner: textOrNull,
  parent_id: textOrNull,
  rerun_of: textOrNull,
  rerun_from: textOrNull,
  created_at: time,
  ended_at: timeOrNull,
} as const
const executionSummary = answer(summaryFields)
/** An execution as `GET /executions` lists it. */
export type ExecutionSummaryAnswer = Of<typeof executionSummary>

const counts = answer({
  blocked: number,
  started: number,
  completed: number,
  dead: number,
  cancelled: number,
  discarded: number,
  skipped: number,
})
export const executionAnswer = object({ ...summaryFields, input: anything, output: anything, tasks: counts }, [
  ...(Object.keys(summaryFields) as (keyof typeof summaryFields)[]),
  'input',
  'tasks',
])
/** One execution as `GET /executions/{id}` answers it, with its tasks by status. */
export type ExecutionAnswer = Of<typeof executionAnswer>

export const executionListQuery = object({
  workflow,
  status,
  owner: text,
  created_after: time,
  created_before: time,
  tags: tagsAsked,
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  cursor: { type: 'string', format: 'uuid', description: 'what an earlier page named as next' },
})
/** Which executions `GET /executions` lists. */
export type ExecutionListQuery = Of<typeof executionListQuery>
export const executionListAnswer = answer({ executions: list(executionSummary), next: textOrNull })

const taskFields = {
  name: text,
  item: { type: ['number', 'null'], description: 'which item of a task with each it is; null: it is the task itself' },
  status: taskStatus,
  because: textOrNull,
  job_id: textOrNull,
  type: textOrNull,
  workflow: textOrNull,
  after: list(text),
  reused: yesOrNo,
  started_at: timeOrNull,
  ended_at: timeOrNull,
  error: anything,
} as const
const task = object({ ...taskFields, result: anything }, Object.keys(taskFields) as (keyof typeof taskFields)[])
/** A task, or an item of one, as `GET /executions/{id}/tasks` lists it. */
export type TaskAnswer = Of<typeof task>

export const taskListQuery = object({
  status: taskStatus,
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  cursor: { type: 'string', minLength: 1, maxLength: 250, description: 'what an earlier page named as next' },
})
/** Which tasks `GET /executions/{id}/tasks` lists. */
export type TaskListQuery = Of<typeof taskListQuery>
export const taskListAnswer = answer({ tasks: list(task), next: textOrNull })

export const movedExecutionAnswer = answer({ id: executionId, done: yesOrNo, was: status, status })
export const rerunBody = object({ from: taskName, id, why }, ['from'])
export type RerunBody = Of<typeof rerunBody>

export const workflowsAnswer = answer({
  workflows: list(
    answer({
      name: text,
      version: number,
      defined_at: time,
      tasks: list(answer({ name: text, type: textOrNull, workflow: textOrNull, after: list(text) })),
    }),
  ),
})
/** Registered workflows as `GET /workflows` answers them, each in its latest version. */
export type WorkflowsAnswer = Of<typeof workflowsAnswer>
