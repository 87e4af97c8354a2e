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

/** An execution with its tasks, as people see it: redacted. */
export interface Execution extends ExecutionSummary {
  input: unknown
  /** What its workflow names as its output; undefined while a task of that has not completed. */
  output: unknown
  tasks: ExecutionTask[]
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

/** Whatever one of its types redacts is redacted in the input: it is the payload of them all. */
export function storyOf(row: ExecutionRow, tasks: readonly TaskRow[], privacy: Privacy): Execution {
  const graph = row.graph as Graph
  const redact = [...new Set(tasks.flatMap((task) => task.redact ?? []))]
  const shown = (task: TaskResultRow, text: string): string => {
    const { type, encrypted, payload, redact: own } = task as TaskRow
    const of = { type: type ?? row.workflow, encrypted: encrypted === true, payload, redact: type === null ? redact : own }
    return JSON.stringify(privacy.shownResult(text, of) ?? null)
  }
  const results = resultsByTask(tasks, shown)
  const order = new Map(graph.tasks.map(({ name }, at) => [name, at]))
  const sorted = [...tasks].sort((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0) || a.item - b.item)
  const plain = { type: row.workflow, encrypted: isEncrypted(row.input), redact }
  return {
    ...summaryOf(row),
    input: privacy.shown(row.input, plain),
    output: outputOf(graph, results),
    tasks: sorted.map((task) => ({
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
      result: decoded(task.item === -1 ? (results[task.name] ?? null) : task.result === null ? null : shown(task, task.result)),
      error: task.error,
    })),
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
