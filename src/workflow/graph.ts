/** When a task starts, once all of its parents have ended. */
export type When = 'succeeded' | 'failed' | 'always'

/** What happens to the other branches once a task has failed. */
export type OnFailure = 'stop' | 'continue'

/** A workflow as the database keeps it: everything that decides what starts when. A running execution keeps the one it started with. */
export interface Graph {
  readonly onFailure: OnFailure
  /** Whose results are the output: of one task, or of several under names of their own. */
  readonly output: string | Readonly<Record<string, string>> | null
  readonly tasks: readonly GraphTask[]
}

/** A task as the database keeps it. One of `type` and `workflow` is there. */
export interface GraphTask {
  readonly name: string
  readonly type?: string
  /** The sub-workflow, and the hash of the graph it had when this one was defined. */
  readonly workflow?: { readonly name: string; readonly hash: string }
  readonly after: readonly string[]
  readonly when: When
  /** A jsonpath predicate over the input and the results of the parents. */
  readonly if?: string
  /** A jsonpath that selects the items, one job each. */
  readonly each?: string
  /** JSON text; left out: the input of the execution, or the item. */
  readonly payload?: string
  readonly options: GraphTaskJob
}

/** What the job of a task is enqueued with, as the database keeps it; what is left out is that of the execution, or of the type. */
export interface GraphTaskJob {
  readonly priority?: number
  readonly maxAttempts?: number
  readonly delayMs?: number
  readonly concurrencyKey?: string
  readonly tags?: readonly string[]
}
