import type {
  ExecutionAnswer,
  ExecutionListQuery,
  ExecutionSummaryAnswer,
  StartBody,
  TaskAnswer,
  TaskListQuery,
  WorkflowsAnswer,
} from '../api/executions.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { newJobId } from '../job/id.js'
import { refuseUnknown } from '../job/refused.js'
import { queryOf } from './query.js'
import { orUndefined, type Send } from './sender.js'

/** What an execution is started with beside its input; see `StartOptions` of the library. */
export interface ClientStartOptions {
  /**
   * Which version of the workflow.
   * @range 1 to 2,147,483,647
   * @default the latest that is registered
   */
  version?: number
  /**
   * A UUIDv7 of your own. A second start with it answers with the first execution.
   * @default a new UUIDv7
   */
  id?: string
  /**
   * The priority of its jobs, 0 (low) to 9 (high), where a task does not say.
   * @range 0 to 9
   * @default that of each type
   */
  priority?: number
  /**
   * Whose execution it is (a tenant, an account): limits per key, fairness and pauses of its jobs go by it.
   * @default none
   */
  concurrencyKey?: string
  /**
   * Words to find its jobs by, where a task has none of its own.
   * @default []
   */
  tags?: readonly string[]
}

/** An execution that was started; `existing`: there was one with this id before. */
export interface StartedExecution {
  id: string
  status: 'created' | 'existing'
}

/** Executions of workflows over HTTP: start, look, wait, cancel, resume, run again. */
export class ClientExecutions {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** Starts an execution of a registered workflow. Resolved means durable. */
  async start(
    workflow: { readonly name: string } | string,
    input: unknown,
    options: ClientStartOptions = {},
  ): Promise<StartedExecution> {
    const { concurrencyKey, tags, ...same } = options
    const body: StartBody = {
      ...{ ...same, id: options.id ?? newJobId(), input },
      workflow: typeof workflow === 'string' ? workflow : workflow.name,
      ...(concurrencyKey !== undefined && { concurrency_key: concurrencyKey }),
      ...(tags !== undefined && { tags: [...tags] }),
    }
    const { answer, sent } = await this.#send<StartedExecution>('POST', '/executions', body)
    // Under an id that was made for this very call it is the one that an earlier try of it stored.
    return sent > 1 && options.id === undefined ? { ...answer, status: 'created' } : answer
  }

  /** One execution with its tasks by status; undefined where there is none this key sees. */
  async get(id: string): Promise<ExecutionAnswer | undefined> {
    return orUndefined(this.#send<ExecutionAnswer>('GET', pathOf(id)))
  }

  /** One page of executions, newest first. `next` is the cursor of the page after it; null: this was the last. */
  async list(query: ExecutionListQuery = {}): Promise<{ executions: ExecutionSummaryAnswer[]; next: string | null }> {
    return (
      await this.#send<{ executions: ExecutionSummaryAnswer[]; next: string | null }>('GET', `/executions${queryOf(query)}`)
    ).answer
  }

  /** Registered workflows, each in its latest version, for a key that may see workers. */
  async workflows(): Promise<WorkflowsAnswer['workflows']> {
    return (await this.#send<WorkflowsAnswer>('GET', '/workflows')).answer.workflows
  }

  /** One page of the tasks of an execution, and of their items, by name. */
  async tasks(id: string, query: TaskListQuery = {}): Promise<{ tasks: TaskAnswer[]; next: string | null }> {
    return (await this.#send<{ tasks: TaskAnswer[]; next: string | null }>('GET', `${pathOf(id)}/tasks${queryOf(query)}`)).answer
  }

  /** Waits until an execution has ended, or for `timeout`, at most a minute ('10s'); answers with it either way. */
  async wait(id: string, options: { timeout?: Duration } = {}): Promise<ExecutionAnswer> {
    refuseUnknown(options, ['timeout'])
    const waitMs = toMilliseconds(options.timeout ?? '10s', 'timeout')
    return (await this.#send<ExecutionAnswer>('GET', `${pathOf(id)}/wait?timeout=${waitMs}ms`, undefined, { waitMs })).answer
  }

  /** Cancels an execution and its jobs. One that has ended is refused with `conflict`. */
  async cancel(id: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('POST', `${pathOf(id)}/cancel`, options)
  }

  /** Goes on with an execution that failed or was cancelled, for a key that may manage dead letters. */
  async resume(id: string, options: { why?: string; confirm?: string | string[] } = {}): Promise<void> {
    await this.#send('POST', `${pathOf(id)}/resume`, options)
  }

  /** Starts a new execution that repeats one that has ended from a task on. */
  async rerun(id: string, from: string, options: { id?: string; why?: string } = {}): Promise<StartedExecution> {
    const body = { id: newJobId(), ...options, from }
    const { answer, sent } = await this.#send<StartedExecution>('POST', `${pathOf(id)}/rerun`, body)
    return sent > 1 && options.id === undefined ? { ...answer, status: 'created' } : answer
  }
}

function pathOf(id: string): string {
  return `/executions/${encodeURIComponent(id)}`
}
