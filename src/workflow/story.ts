import type { Failure } from '../job/failure.js'
import { decodePayload } from '../job/payload.js'
import { isEncrypted } from '../privacy/keyring.js'
import type { Privacy } from '../privacy/privacy.js'
import type { ExecutionRow, ExecutionSummaryRow, TaskResultRow, TaskRow } from '../store/execution-store.js'
import type { Graph } from './graph.js'
import { resultsByTask } from './read.js'

/** `failed`: a task failed, and nothing of it runs any more. */
export type ExecutionStatus = 'running' | 'completed' | 'failed' | 'cancelled'

/** `started`: it has a job, or a sub-workflow, that has not ended. */
export type TaskStatus = 'blocked' | 'started' | 'completed' | 'dead' | 'cancelled' | 'discarded' | 'skipped'

/** An execution in a list. */
export interface ExecutionSummary {
  id: string
  workflow: string
  version: number
  status: ExecutionStatus
  /** The service that started it over HTTP. */
  owner: string | null
  /** The execution that this one is a task of. */
  parentId: string | null
  /** The execution that this one repeats, and the task it repeats it from. */
  rerunOf: string | null
  rerunFrom: string | null
  createdAt: Date
  endedAt: Date | null
}

/** A task of an execution, as people see it. */
export interface ExecutionTask {
  name: string
  /** Which item of a task with `each` it is, from 0; null: it is the task itself. */
  item: number | null
  status: TaskStatus
  /** Why it was skipped: a condition, a failure before it, a failure anywhere, or the execution was cancelled. */
  because: 'condition' | 'failed' | 'stopped' | 'cancelled' | null
  /** Its job, or the execution that it is; known before it starts. Null for a task with `each`, whose items have one each. */
  jobId: string | null
  type: string | null
  workflow: string | null
  after: string[]
  /** Its result is that of an earlier execution. */
  reused: boolean
  startedAt: Date | null
  endedAt: Date | null
  result: unknown
  error: Failure | null
}

/** What an execution was started with and results in, as people see it: redacted. */
interface ExecutionEnds extends ExecutionSummary {
  input: unknown
  /** What its workflow names as its output; undefined while a task of that has not completed. */
  output: unknown
}

/** An execution with its tasks, as people see it: redacted. */
export interface Execution extends ExecutionEnds {
  tasks: ExecutionTask[]
}

/** An execution with its tasks counted; items are not. */
export interface ExecutionOverview extends ExecutionEnds {
  tasks: Record<TaskStatus, number>
}

export function summaryOf(row: ExecutionSummaryRow): ExecutionSummary {
  return {
    id: row.id,
    workflow: row.workflow,
    version: row.version,
    status: row.status,
    owner: row.owner,
    parentId: row.parent_id,
    rerunOf: row.rerun_of,
    rerunFrom: row.rerun_from,
    createdAt: new Date(row.created_at),
    endedAt: dateOf(row.ended_at),
  }
}

export function storyOf(row: ExecutionRow, tasks: readonly TaskRow[], privacy: Privacy): Execution {
  const redact = [...new Set(tasks.flatMap((task) => task.redact ?? []))]
  const order = new Map((row.graph as Graph).tasks.map(({ name }, at) => [name, at]))
  const sorted = [...tasks].sort((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0) || a.item - b.item)
  const results = resultsByTask(tasks, shownBy(privacy, row, redact))
  const ofItems = sorted.map((task) => (task.item === -1 && task.fans_out ? decoded(results[task.name] ?? null) : undefined))
  const shown = taskStories(row, sorted, redact, privacy)
  return {
    ...endsOf(row, tasks, redact, privacy),
    tasks: shown.map((task, at) => (ofItems[at] === undefined ? task : { ...task, result: ofItems[at] })),
  }
}

/** Tasks as people see them. What a task with items resulted in stands with its items. */
export function taskStories(
  row: ExecutionRow,
  tasks: readonly TaskRow[],
  redact: readonly string[],
  privacy: Privacy,
): ExecutionTask[] {
  const shown = shownBy(privacy, row, redact)
  return tasks.map((task) => ({
    name: task.name,
    item: task.item === -1 ? null : task.item,
    status: task.status,
    because: task.because,
    jobId: task.job_id,
    type: task.type,
    workflow: task.sub_workflow,
    after: task.parents,
    reused: task.reused,
    startedAt: dateOf(task.started_at),
    endedAt: dateOf(task.ended_at),
    result: decoded(task.result === null ? null : shown(task, task.result)),
    error: task.error,
  }))
}

/** Input and output. Whatever one of its types redacts is redacted in the input: it is the payload of them all. */
export function endsOf(row: ExecutionRow, tasks: readonly TaskRow[], redact: readonly string[], privacy: Privacy): ExecutionEnds {
  const plain = { type: row.workflow, encrypted: isEncrypted(row.input), redact }
  const results = resultsByTask(tasks, shownBy(privacy, row, redact))
  return { ...summaryOf(row), input: privacy.shown(row.input, plain), output: outputOf(row.graph as Graph, results) }
}

function shownBy(privacy: Privacy, { workflow }: ExecutionRow, redact: readonly string[]) {
  return (task: TaskResultRow, text: string): string => {
    const { type, encrypted, payload, redact: own } = task as TaskRow
    const of = { type: type ?? workflow, encrypted: encrypted === true, payload, redact: type === null ? redact : own }
    return JSON.stringify(privacy.shownResult(text, of) ?? null)
  }
}

/** Puts the output together from the results of the tasks that the graph names. */
export function outputOf({ output }: Graph, results: Readonly<Record<string, string | null>>): unknown {
  if (output === null) return undefined
  if (typeof output === 'string') return decoded(results[output] ?? null)
  return Object.fromEntries(Object.entries(output).map(([key, task]) => [key, decoded(results[task] ?? null)]))
}

export function outputTasks({ output }: Graph): string[] {
  return output === null ? [] : typeof output === 'string' ? [output] : Object.values(output)
}

function decoded(json: string | null): unknown {
  return json === null ? undefined : decodePayload(json)
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms)
}
