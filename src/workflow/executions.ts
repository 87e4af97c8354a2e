import type { Counter } from '../enqueue/enqueue.js'
import { HoldfastError } from '../errors.js'
import type { Waiters } from '../history/waiters.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { didYouMean } from '../job/nearest.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { readTagsAsked } from '../job/tags.js'
import { storableText } from '../job/text.js'
import { timeAsked } from '../job/time-asked.js'
import { type Confirm, readConfirm } from '../operate/confirm.js'
import { moveAll } from '../operate/moves.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { ExecutionRow } from '../store/execution-store.js'
import { told } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import type { Graph } from './graph.js'
import { type ExecutionOwner, readOverview, readTasks, type TaskPage, type TaskPageOptions } from './look.js'
import { checkId, type MovedExecution, movedOf, noExecution, ownerIn } from './moved.js'
import { resultOf, resultsByTask } from './read.js'
import { WorkflowRegistry } from './register.js'
import { type Started, type Starter, type StartOptions, start, startGraph } from './start.js'
import {
  type Execution,
  type ExecutionOverview,
  type ExecutionStatus,
  type ExecutionSummary,
  outputOf,
  outputTasks,
  storyOf,
  summaryOf,
} from './story.js'
import type { AnyWorkflow, Workflow } from './typed.js'

/** Which executions are listed: those that fit every field that is given. */
export interface ExecutionFilter {
  workflow?: string
  status?: ExecutionStatus
  /** The service that started it over HTTP. */
  owner?: string
  /** Created at this time or later. */
  createdAfter?: Date
  createdBefore?: Date
  /** It was started with all of these tags, and may have more. */
  tags?: readonly string[]
}

/** One page of a list of executions. */
export interface ExecutionPage {
  /** Newest first. */
  executions: ExecutionSummary[]
  /** The cursor of the next page; null: this was the last. */
  next: string | null
}

/** How long `executions.wait` waits. */
export interface ExecutionWaitOptions {
  /**
   * How long to wait, at most 24 days.
   * @range 0 to 24 days
   * @default '1m'
   */
  timeout?: Duration
  /**
   * Gives up when it fires, with its reason.
   * @default none
   */
  signal?: AbortSignal
}

/** A workflow as the database knows it. */
export interface RegisteredWorkflow {
  name: string
  version: number
  /** The types of the jobs that an execution of it may make. */
  types: string[]
}

/** A registered workflow in its latest version, with its tasks and what each waits for. */
export interface WorkflowSummary {
  name: string
  version: number
  definedAt: Date
  /** A task is a job of `type`, or an execution of `workflow`. */
  tasks: { name: string; type: string | null; workflow: string | null; after: string[] }[]
}

const statuses = ['running', 'completed', 'failed', 'cancelled']
const longestMs = 24 * 86_400_000

/** Executions of workflows: look, wait, cancel, resume, run again. */
export class Executions {
  readonly #starter: Starter
  readonly #store: Store
  readonly #privacy: Privacy
  readonly #waiters: Waiters

  /** @internal */
  constructor({ store, registry, backpressure }: Counter, privacy: Privacy, waiters: Waiters) {
    this.#starter = { store, registry: new WorkflowRegistry(store, registry), backpressure, privacy }
    this.#store = store
    this.#privacy = privacy
    this.#waiters = waiters
  }

  /** Makes a workflow known, so that it can be started by its name, also over HTTP. The first `start` with its definition does the same. */
  async register(workflow: AnyWorkflow): Promise<void> {
    await this.#starter.registry.ensure(workflow)
  }

  /** A registered workflow, of that version or the latest: which types of jobs it makes, itself or in a sub-workflow. */
  async workflow(name: string, version?: number): Promise<RegisteredWorkflow | undefined> {
    const row = await told(this.#store.executions.startable(storableText(name, 'name'), version ?? null))
    return row && { name, version: row.version, types: row.types }
  }

  /** Every registered workflow, by name, in its latest version. */
  async workflows(): Promise<WorkflowSummary[]> {
    return (await told(this.#store.executions.workflows())).map(({ name, version, graph, defined_at }) => ({
      ...{ name, version, definedAt: new Date(defined_at) },
      tasks: (graph as Graph).tasks.map(({ name: task, type, workflow, after }) => ({
        ...{ name: task, type: type ?? null, workflow: workflow?.name ?? null, after: [...after] },
      })),
    }))
  }

  /** Starts an execution; `holdfast.start` is the same. */
  async start<Input, Output>(
    workflow: Workflow<Input, Output> | string,
    input: Input,
    options: StartOptions = {},
  ): Promise<Started<Output>> {
    return (await start(this.#starter, workflow, input, options)) as Started<Output>
  }

  /** One execution with its tasks, their times and results; undefined where none of that id is kept. */
  async get(id: string, options: ExecutionOwner = {}): Promise<Execution | undefined> {
    const { owner } = ownerIn(options)
    checkId(id)
    const row = await told(this.#store.executions.execution(id, owner ?? null))
    return row && storyOf(row, await told(this.#store.executions.tasks(id)), this.#privacy)
  }

  /** One execution with its tasks counted by status, however many there are; undefined where none of that id is kept. */
  async overview(id: string, options: ExecutionOwner = {}): Promise<ExecutionOverview | undefined> {
    const { owner } = ownerIn(options)
    checkId(id)
    return told(readOverview(this.#store.executions, this.#privacy, id, owner ?? null))
  }

  /** One page of the tasks of an execution and of their items, by name: `limit` of them (20), after `cursor`. */
  async tasks(id: string, options: TaskPageOptions = {}): Promise<TaskPage> {
    checkId(id)
    const page = await told(readTasks(this.#store.executions, this.#privacy, id, options))
    if (!page) throw noExecution(id)
    return page
  }

  /** One page of executions, newest first: `limit` of them (20), after `cursor`. */
  async list(filter: ExecutionFilter = {}, options: { cursor?: string; limit?: number } = {}): Promise<ExecutionPage> {
    refuseUnknown(options, ['cursor', 'limit'])
    refuseUnknown(filter, ['workflow', 'status', 'owner', 'createdAfter', 'createdBefore', 'tags'])
    const { workflow, status, owner } = filter
    if (status !== undefined && !statuses.includes(status)) {
      throw refused('status', `is ${String(status)}; there are ${statuses.join(', ')}`)
    }
    if (options.cursor !== undefined) checkId(options.cursor)
    const limit = wholeNumber(options.limit ?? 20, 'limit', 1, 100)
    const asked = {
      workflow: workflow === undefined ? null : storableText(workflow, 'workflow'),
      status: status ?? null,
      owner: owner === undefined ? null : storableText(owner, 'owner'),
      after: timeAsked(filter.createdAfter, 'createdAfter'),
      before: timeAsked(filter.createdBefore, 'createdBefore'),
      tags: readTagsAsked(filter.tags),
    }
    const rows = await told(this.#store.executions.list(asked, options.cursor ?? null, limit))
    return { executions: rows.map(summaryOf), next: rows.length < limit ? null : (rows.at(-1)?.id ?? null) }
  }

  /**
   * Waits until an execution has ended. Resolves with its output, typed where it is what `start` answered; throws `execution_failed`, with
   * what the tasks failed of, `execution_cancelled`, or `wait_timeout` when the time is over.
   * @example
   * const started = await holdfast.start(order, { cart: 'a7', total: 30 })
   * const output = await holdfast.executions.wait(started, { timeout: '30s' })
   */
  async wait<Output = unknown>(execution: Started<Output> | string, options: ExecutionWaitOptions = {}): Promise<Output> {
    const id = typeof execution === 'string' ? execution : execution?.id
    checkId(id)
    refuseUnknown(options, ['timeout', 'signal'])
    const ms = toMilliseconds(options.timeout ?? '1m', 'timeout')
    if (ms > longestMs) throw refused('timeout', 'is too long; at most 24 days')
    const { status } = await this.#waiters.ended(id.toLowerCase(), ms, options.signal)
    const row = await told(this.#store.executions.execution(id, null))
    if (!row) throw noExecution(id)
    if (status !== 'completed') throw await this.#endOf(row)
    return (await this.#output(row)) as Output
  }

  /**
   * Ends an execution: nothing of it starts any more, and its jobs are cancelled, running ones too. What it did stays. An execution that has
   * ended is not changed.
   */
  async cancel(id: string, who: Actor, options: ExecutionOwner = {}): Promise<MovedExecution> {
    const { owner } = ownerIn(options)
    checkId(id)
    const actor = checkedActor(who)
    const moved = movedOf(id, await told(this.#store.executions.cancel(id, owner ?? null, actor)))
    // Also where it was cancelled before: whoever did may not have come to the end.
    if (moved.status === 'cancelled') {
      const left = await told(this.#store.executions.jobsToCancel(id))
      await moveAll(left, (ids) => told(this.#store.move.cancelJobs(ids, actor)))
    }
    return moved
  }

  /**
   * Goes on with an execution that failed or was cancelled: its dead jobs are replayed, cancelled ones go on behind their steps or, where they
   * had not begun, are made again, and what was given up waits again for its parents. `confirm` names the sensitive types among them.
   */
  async resume(id: string, who: Actor, options: ExecutionOwner & { confirm?: Confirm } = {}): Promise<MovedExecution> {
    checkId(id)
    refuseUnknown(options, ['owner', 'confirm'])
    const { owner = null, confirm } = options
    return movedOf(id, await told(this.#store.executions.resume(id, owner, checkedActor(who), readConfirm(confirm))))
  }

  /**
   * Starts a new execution that repeats one that has ended from a task on: what did not depend on that task and completed is taken over,
   * the rest is done again, with the same input and graph. With `id`, a UUIDv7 of your own, the same call made again starts no second one.
   */
  async rerun(id: string, from: string, who: Actor, options: ExecutionOwner & { id?: string } = {}): Promise<Started> {
    checkId(id)
    refuseUnknown(options, ['owner', 'id'])
    const by = checkedActor(who)
    const row = await told(this.#store.executions.execution(id, options.owner ?? null))
    if (!row) throw noExecution(id)
    if (row.status === 'running') throw new HoldfastError('conflict', `execution ${id} is running; cancel it first`)
    const graph = row.graph as Graph
    const names = graph.tasks.map(({ name }) => name)
    if (!names.includes(from))
      throw refused('from', `is ${JSON.stringify(from)}, which is no task of ${row.workflow}${didYouMean(from, names)}`)
    const { priority, concurrency_key: key, tags, owner } = row
    const same = {
      ...(options.id === undefined ? {} : { id: options.id }),
      ...(priority === null ? {} : { priority }),
      ...(key === null ? {} : { concurrencyKey: key }),
      ...(tags === null ? {} : { tags }),
      ...(owner === null ? {} : { owner }),
    }
    const startable = { name: row.workflow, hash: row.hash, graph, rerunOf: id, from, by }
    return startGraph(
      this.#starter,
      startable,
      this.#readable(() => this.#privacy.decrypt(id, row.input)),
      same,
    )
  }

  async #output({ id, graph }: ExecutionRow): Promise<unknown> {
    const tasks = outputTasks(graph as Graph)
    const rows = tasks.length === 0 ? [] : await told(this.#store.executions.results(id, tasks))
    return this.#readable(() => {
      const results = resultsByTask(rows, (row, text) => resultOf(this.#privacy, row, text))
      return outputOf(graph as Graph, results)
    })
  }

  #readable<Value>(read: () => Value): Value {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      throw new HoldfastError('encryption_keys_missing', error.message, { field: 'encryption', cause: error })
    }
  }

  async #endOf({ id, workflow, status }: ExecutionRow): Promise<HoldfastError> {
    const name = `execution ${id} of ${workflow}`
    if (status === 'cancelled') return new HoldfastError('execution_cancelled', `${name} was cancelled`)
    const failed = (await told(this.#store.executions.tasks(id))).filter((task) =>
      ['dead', 'cancelled', 'discarded'].includes(task.status),
    )
    const said = failed.slice(0, 5).map(({ name: task, item, status: is, error }) => {
      const which = item === -1 ? task : `${task}[${item}]`
      return `${which} is ${is}${error ? `: ${error.name}: ${error.message}` : ''}`
    })
    const more = failed.length > 5 ? `, and ${failed.length - 5} more` : ''
    return new HoldfastError('execution_failed', `${name} failed: ${said.join('; ')}${more}`)
  }
}
