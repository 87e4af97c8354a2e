import type {
  ExecutionAnswer,
  ExecutionListQuery,
  ExecutionSummaryAnswer,
  TaskAnswer,
  TaskListQuery,
} from '../../api/executions.js'
import type { ClientStartOptions } from '../../client/executions.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import type { Duration } from '../../job/duration.js'
import { overviewAnswer, summaryAnswer, taskAnswer } from '../../server/routes/execution-answers.js'
import { libraryFilter } from '../../server/routes/filter.js'
import type { ExecutionFilter } from '../../workflow/executions.js'
import type { MovedExecution } from '../../workflow/moved.js'
import type { Started } from '../../workflow/start.js'
import { defined } from '../defined.js'
import type { Acting, Operator } from './operator.js'

type Executions = Operator['executions']

/** Executions of workflows, as the HTTP client shows and moves them. */
export class DatabaseExecutions implements Pick<Executions, keyof Executions> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async start(workflow: { readonly name: string } | string, input: unknown, options: ClientStartOptions = {}) {
    return answered(await this.#holdfast.start(typeof workflow === 'string' ? workflow : workflow.name, input, options))
  }

  async get(id: string): Promise<ExecutionAnswer | undefined> {
    const found = await this.#holdfast.executions.overview(id)
    return found && overviewAnswer(found)
  }

  async list(query: ExecutionListQuery = {}): Promise<{ executions: ExecutionSummaryAnswer[]; next: string | null }> {
    const { limit, cursor, ...filter } = query
    const page = await this.#holdfast.executions.list(libraryFilter<ExecutionFilter>(filter), defined({ limit, cursor }))
    return { executions: page.executions.map(summaryAnswer), next: page.next }
  }

  async tasks(id: string, query: TaskListQuery = {}): Promise<{ tasks: TaskAnswer[]; next: string | null }> {
    const page = await this.#holdfast.executions.tasks(id, query)
    return { tasks: page.tasks.map(taskAnswer), next: page.next }
  }

  /** Answers with the execution also where it failed, was cancelled or goes on, as the server does. */
  async wait(id: string, { timeout = '10s' }: { timeout?: Duration } = {}): Promise<ExecutionAnswer> {
    await this.#holdfast.executions.wait(id, { timeout }).catch((error) => {
      if (!ends.includes(error.code)) throw error
    })
    const found = await this.get(id)
    if (!found) throw new HoldfastError('not_found', `no execution ${id} is kept`, { field: 'id' })
    return found
  }

  async cancel(id: string, { why }: { why?: string } = {}): Promise<void> {
    orConflict(await this.#holdfast.executions.cancel(id, this.#who(why)))
  }

  async resume(id: string, { why, confirm }: { why?: string; confirm?: string | string[] } = {}): Promise<void> {
    orConflict(await this.#holdfast.executions.resume(id, this.#who(why), defined({ confirm })))
  }

  async rerun(id: string, from: string, { why, id: own }: { id?: string; why?: string } = {}) {
    return answered(await this.#holdfast.executions.rerun(id, from, this.#who(why), defined({ id: own })))
  }
}

const ends = ['execution_failed', 'execution_cancelled', 'wait_timeout']

function answered({ id, status }: Started): { id: string; status: 'created' | 'existing' } {
  return { id, status }
}

function orConflict({ done, because }: MovedExecution): void {
  if (!done) throw new HoldfastError('conflict', `nothing was changed: ${because}`)
}
