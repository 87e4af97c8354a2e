import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { storableText } from '../job/text.js'
import type { Privacy } from '../privacy/privacy.js'
import type { ExecutionStore, TaskRow } from '../store/execution-store.js'
import type { Graph } from './graph.js'
import { type ExecutionOverview, type ExecutionTask, endsOf, outputTasks, type TaskStatus, taskStories } from './story.js'

/** Whose execution it has to be. */
export interface ExecutionOwner {
  /** The service that asks, which sees and changes its own executions alone. Left out: the application itself. */
  owner?: string
}

/** Which tasks of an execution a page has. */
export interface TaskPageOptions extends ExecutionOwner {
  /**
   * Only tasks in this status.
   * @default all
   */
  status?: TaskStatus
  /**
   * The `next` of the page before.
   * @default null: the first page
   */
  cursor?: string
  /**
   * How many tasks at most.
   * @range 1 to 100
   * @default 20
   */
  limit?: number
}

/** One page of the tasks of an execution. */
export interface TaskPage {
  /** By name, the items of a task after it. What a task with `each` resulted in stands with its items. */
  tasks: ExecutionTask[]
  /** The cursor of the next page; null: this was the last. */
  next: string | null
}

export const taskStatuses = ['blocked', 'started', 'completed', 'dead', 'cancelled', 'discarded', 'skipped'] as const

/** Reads no more tasks than the output needs. */
export async function readOverview(
  store: ExecutionStore,
  privacy: Privacy,
  id: string,
  owner: string | null,
): Promise<ExecutionOverview | undefined> {
  const row = await store.execution(id, owner)
  if (!row) return undefined
  const { counts, redact } = await store.tasksByStatus(id)
  const names = outputTasks(row.graph as Graph)
  const tasks = names.length === 0 ? [] : await store.tasks(id, { names })
  const none = Object.fromEntries(taskStatuses.map((status) => [status, 0])) as ExecutionOverview['tasks']
  return { ...endsOf(row, tasks, redact, privacy), tasks: { ...none, ...counts } }
}

/** One page of tasks; undefined where there is no such execution. */
export async function readTasks(
  store: ExecutionStore,
  privacy: Privacy,
  id: string,
  options: TaskPageOptions,
): Promise<TaskPage | undefined> {
  refuseUnknown(options, ['owner', 'status', 'cursor', 'limit'])
  const { owner = null, status, cursor } = options
  if (status !== undefined && !taskStatuses.includes(status)) {
    throw refused('status', `is ${String(status)}; there are ${taskStatuses.join(', ')}`)
  }
  const limit = wholeNumber(options.limit ?? 20, 'limit', 1, 100)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const row = await store.execution(id, owner)
  if (!row) return undefined
  const { redact } = await store.tasksByStatus(id)
  const tasks = await store.tasks(id, { limit, ...(status && { status }), ...(after && { after }) })
  const last = tasks.length < limit ? undefined : tasks.at(-1)
  return { tasks: taskStories(row, tasks, redact, privacy), next: last ? cursorOf(last) : null }
}

function cursorOf({ name, item }: TaskRow): string {
  return `${name}/${item}`
}

function readCursor(cursor: string): { name: string; item: number } {
  const [, name, item] = /^(.{1,200})\/(-1|\d{1,9})$/s.exec(storableText(cursor, 'cursor')) ?? []
  if (name === undefined) throw refused('cursor', 'is not what an earlier page named as next')
  return { name, item: Number(item) }
}
