import type { RecordedActor } from '../job/actor.js'
import type { Failure } from '../job/failure.js'
import type { Database } from './database.js'
import { type Statement, statement } from './queries.js'
import type { Queryable } from './transaction.js'

/** An execution without its tasks. */
export interface ExecutionSummaryRow {
  id: string
  workflow: string
  version: number
  status: 'running' | 'completed' | 'failed' | 'cancelled'
  owner: string | null
  parent_id: string | null
  rerun_of: string | null
  rerun_from: string | null
  created_at: number
  ended_at: number | null
}

export interface ExecutionRow extends ExecutionSummaryRow {
  hash: string
  /** As src/workflow/graph.ts has it. */
  graph: unknown
  priority: number | null
  concurrency_key: string | null
  tags: string[] | null
  input: string
}

/** What a task resulted in; `item` is -1 for the task itself. */
export interface TaskResultRow {
  name: string
  item: number
  status: 'blocked' | 'started' | 'completed' | 'dead' | 'cancelled' | 'discarded' | 'skipped'
  job_id: string | null
  type: string | null
  fans_out: boolean
  encrypted: boolean | null
  result: string | null
}

export interface TaskRow extends TaskResultRow {
  because: 'condition' | 'failed' | 'stopped' | 'cancelled' | null
  reused: boolean
  parents: string[]
  sub_workflow: string | null
  redact: string[] | null
  payload: string
  error: Failure | null
  started_at: number | null
  ended_at: number | null
}

/** Which executions are listed; null: whichever. */
export interface ExecutionQuestion {
  workflow: string | null
  status: string | null
  owner: string | null
  after: string | null
  before: string | null
  /** It was started with all of these. */
  tags: readonly string[] | null
}

/** How a move went for an execution; no reason where it was done. */
export interface MovedExecutionRow {
  id: string
  done: boolean
  was: ExecutionSummaryRow['status']
  status: ExecutionSummaryRow['status']
  because: string | null
}

/** What the database finds wrong with a graph. */
export interface GraphProblem {
  task: string
  field: string
  problem: string
}

/** An execution to be started. */
export interface NewExecution {
  id: string
  workflow: string
  hash: string
  input: string
  options: object
  /** By task, the id and the payload of what is encrypted; null: nothing is. */
  own: object | null
  rerunOf: string | null
  from: string | null
}

/** A workflow as it was registered. */
export interface StartableRow {
  version: number
  hash: string
  /** As src/workflow/graph.ts has it. */
  graph: unknown
  types: string[]
}

/** A registered workflow in its latest version. */
export interface WorkflowRow {
  name: string
  version: number
  /** As src/workflow/graph.ts has it. */
  graph: unknown
  defined_at: number
}

/** Which tasks are meant; all that are not left out. */
export interface SomeTasks {
  names?: readonly string[]
  status?: string
  after?: { name: string; item: number }
  limit?: number
}

/** Executions of workflows. */
export class ExecutionStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Whether a graph is registered, as the caller's transaction sees it. */
  async isRegistered(name: string, hash: string, tx?: Queryable): Promise<boolean> {
    return (await this.#query<{ version: number }>(statement('workflowVersion'), [name, hash], tx)).length > 0
  }

  async register(name: string, hash: string, graph: string): Promise<GraphProblem[]> {
    const rows = await this.#database.query<{ problems: GraphProblem[] | null }>(statement('registerWorkflow'), [
      name,
      hash,
      graph,
    ])
    return rows[0]?.problems ?? []
  }

  /** False: an execution with that id was there already. */
  async start(asked: NewExecution, tx?: Queryable): Promise<boolean> {
    const { id, workflow, hash, input, options, own, rerunOf, from } = asked
    const values = [id, workflow, hash, input, JSON.stringify(options), own && JSON.stringify(own), rerunOf, from]
    return (await this.#query<{ created: boolean }>(statement('startExecution'), values, tx))[0]?.created === true
  }

  /** A registered workflow: of that version, or the latest. */
  async startable(name: string, version: number | null): Promise<StartableRow | undefined> {
    return (await this.#database.query<StartableRow>(statement('startableWorkflow'), [name, version]))[0]
  }

  async execution(id: string, owner: string | null): Promise<ExecutionRow | undefined> {
    return (await this.#database.query<ExecutionRow>(statement('executionById'), [id, owner]))[0]
  }

  async tasks(id: string, some: SomeTasks = {}): Promise<TaskRow[]> {
    const { names = null, status = null, after, limit = null } = some
    const values = [id, names, status, after?.name ?? null, after?.item ?? null, limit]
    return this.#database.query(statement('tasksOfExecution'), values)
  }

  async tasksByStatus(id: string): Promise<{ counts: Partial<Record<TaskRow['status'], number>>; redact: string[] }> {
    type Row = Awaited<ReturnType<ExecutionStore['tasksByStatus']>>
    return (await this.#database.query<Row>(statement('tasksByStatus'), [id]))[0] as Row
  }

  async taskOfJob(
    job: string,
  ): Promise<
    { execution: string; workflow: string; name: string; item: number | null; input: string; parents: string[] } | undefined
  > {
    type Row = NonNullable<Awaited<ReturnType<ExecutionStore['taskOfJob']>>>
    return (await this.#database.query<Row>(statement('taskOfJob'), [job]))[0]
  }

  async results(execution: string, tasks: readonly string[]): Promise<TaskResultRow[]> {
    return this.#database.query(statement('resultsOfTasks'), [execution, tasks])
  }

  async list(filter: ExecutionQuestion, cursor: string | null, limit: number): Promise<ExecutionSummaryRow[]> {
    const { workflow, status, owner, after, before, tags } = filter
    return this.#database.query(statement('listExecutions'), [workflow, status, owner, cursor, limit, after, before, tags])
  }

  /** Every registered workflow, in its latest version. */
  async workflows(): Promise<WorkflowRow[]> {
    return this.#database.query(statement('listWorkflows'), [])
  }

  async cancel(id: string, owner: string | null, who: RecordedActor): Promise<MovedExecutionRow | undefined> {
    return (
      await this.#database.query<MovedExecutionRow>(statement('cancelExecution'), [id, owner, who.by, who.why, who.from])
    )[0]
  }

  async jobsToCancel(id: string): Promise<string[]> {
    return (await this.#database.query<{ id: string }>(statement('jobsToCancel'), [id])).map((row) => row.id)
  }

  async resume(
    id: string,
    owner: string | null,
    who: RecordedActor,
    confirmed: readonly string[],
  ): Promise<MovedExecutionRow | undefined> {
    const values = [id, owner, who.by, who.why, who.from, confirmed]
    return (await this.#database.query<MovedExecutionRow>(statement('resumeExecution'), values))[0]
  }

  #query<Row>(named: Statement, values: readonly unknown[], tx: Queryable | undefined): Promise<Row[]> {
    return tx ? tx.query(this.#database.rendered(named).text, values) : this.#database.query(named, values)
  }
}
