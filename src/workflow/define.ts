import { createHash } from 'node:crypto'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { Checker } from '../job/checker.js'
import { notA, refused } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'
import { workflowMark } from '../job/workflow-mark.js'
import { checkGraph, inputName } from './check-graph.js'
import type { Graph, OnFailure } from './graph.js'
import { readTask, type TaskDefinition } from './read-task.js'
import type { AnyTask, OutputOf, OutputTasks, TaskMaker, Workflow } from './typed.js'

/** What `defineWorkflow` takes: what an execution is given, and its tasks. */
export interface WorkflowDefinition<Schema extends StandardSchemaV1, Tasks extends OutputTasks> {
  /** The name its executions carry, such as `order`. */
  name: string
  /**
   * Any Standard Schema for the input of an execution. Checked at its start, and again before a task runs with it.
   * @default none: any JSON
   */
  input?: Schema
  /**
   * What happens once a task has failed. `stop`: no other task starts, except those that say `when: 'failed'` or `'always'`. `continue`:
   * tasks that do not depend on it go on.
   * @default 'stop'
   */
  onFailure?: OnFailure
  /** Names the tasks, one by one, and returns those whose results are the output: one task, or several under names of their own. */
  tasks: (task: TaskMaker<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>>) => Tasks
}

const fields = ['name', 'input', 'onFailure', 'tasks']
const mostTasks = 10_000

/**
 * Defines a workflow once, for those who start it and for workers alike. Every problem is found here, when the program starts.
 * @example
 * import { defineWorkflow } from 'holdfast'
 * import { z } from 'zod'
 *
 * export const order = defineWorkflow({
 *   name: 'order',
 *   input: z.object({ cart: z.string(), total: z.number() }),
 *   tasks(task) {
 *     const charge = task('charge', { run: async ({ total }) => ({ receipt: `paid ${total}` }) })
 *     const pack = task('pack', { lane: 'default', run: async ({ cart }) => ({ parcel: `box of ${cart}` }) })
 *     return task('ship', {
 *       after: [charge, pack],
 *       run: async (_, { parents }) => `${(await parents()).charge.receipt}, sent in a ${(await parents()).pack.parcel}`,
 *     })
 *   },
 * })
 */
export function defineWorkflow<Schema extends StandardSchemaV1, Tasks extends OutputTasks>(
  definition: WorkflowDefinition<Schema, Tasks>,
): Workflow<StandardSchemaV1.InferInput<Schema>, OutputOf<Tasks>> {
  const { name, input, onFailure = 'stop' } = definition
  if (typeof name !== 'string' || !/^[\w:/-]{1,100}$/.test(name)) {
    throw refused('name', `is ${JSON.stringify(name)}; the name of a workflow has 1 to 100 letters, digits or _ - : /`)
  }
  const check = new Checker()
  check.known(definition, fields)
  if (input !== undefined && typeof input?.['~standard']?.validate !== 'function')
    check.wrong('input', 'is not a Standard Schema')
  if (onFailure !== 'stop' && onFailure !== 'continue') {
    check.read(() => {
      throw notA('onFailure', onFailure, 'stop or continue')
    }, undefined)
  }
  const given = new Map<string, TaskDefinition>()
  const maker = (task: string, options: TaskDefinition = {}): AnyTask => {
    if (given.has(task)) check.wrong(['tasks', task], 'is defined twice')
    given.set(task, options)
    return Object.freeze({ name: task })
  }
  if (typeof definition.tasks !== 'function') throw refused('tasks', 'must be a function that names the tasks: (task) => { … }')
  const returned = definition.tasks(maker as unknown as TaskMaker<never, never>)
  const tasks = [...given].map(([task, options]) => readTask(check, { workflow: name, input }, task, options))
  if (tasks.length === 0) check.wrong('tasks', 'are none; name one at least')
  if (tasks.length > mostTasks) check.wrong('tasks', `are ${tasks.length}; at most ${mostTasks} fit into one workflow`)
  const usedTypes = tasks.flatMap(({ type }) => type ?? [])
  const encrypted = new Set(tasks.filter(({ type }) => type?.encrypt).map(({ graph }) => graph.name))
  if (encrypted.size > 0) encrypted.add(inputName)
  const graph: Graph = {
    onFailure,
    output: check.read(() => readOutput(returned, given), null),
    tasks: tasks.map((task) => task.graph),
  }
  checkGraph(check, graph.tasks, encrypted)
  check.done('invalid_option', `the workflow ${name} has problems`)
  const subWorkflows = tasks.flatMap(({ subWorkflow }) => subWorkflow ?? [])
  const own = tasks.flatMap(({ type, isOwn }) => (type && isOwn ? type : []))
  const types = new Map<string, AnyJobType>(
    [...own, ...subWorkflows.flatMap((sub) => sub.types)].map((type) => [type.type, type]),
  )
  const made = { name, schema: input, types: [...types.values()], graph, hash: hashOf(graph), subWorkflows, usedTypes }
  return Object.freeze(Object.defineProperty(made, workflowMark, { value: true })) as Workflow<
    StandardSchemaV1.InferInput<Schema>,
    OutputOf<Tasks>
  >
}

export function hashOf(graph: Graph): string {
  return createHash('sha256').update(JSON.stringify(graph)).digest('hex').slice(0, 32)
}

function readOutput(returned: unknown, tasks: ReadonlyMap<string, unknown>): Graph['output'] {
  if (returned === undefined || returned === null) return null
  if (typeof returned !== 'object') throw refused('tasks', 'must return a task, an object of tasks, or nothing')
  const nameIn = (value: unknown): string => {
    const name = (value as { name?: unknown } | null)?.name
    if (typeof name === 'string' && tasks.has(name)) return name
    throw refused('tasks', 'must return a task of its own, an object of them, or nothing')
  }
  if (typeof (returned as { name?: unknown }).name === 'string') return nameIn(returned)
  return Object.fromEntries(Object.entries(returned).map(([key, value]) => [key, nameIn(value)]))
}
