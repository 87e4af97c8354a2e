import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../job/duration.js'
import type { ExecutionInHand, RunContext } from '../job/run-context.js'
import type { AnyJobType, JobType, ResultOf } from '../job/type.js'
import type { TypeDefinition } from '../job/type-definition.js'
import type { Graph, When } from './graph.js'

declare const resultOf: unique symbol
declare const mayBeSkipped: unique symbol

/** A task of a workflow that is being defined: what `task(…)` answers, and what `after` takes. */
export interface Task<Name extends string = string, Result = unknown, Skippable extends boolean = boolean> {
  readonly name: Name
  /** There for the compiler alone: what children read. */
  readonly [resultOf]?: Result
  readonly [mayBeSkipped]?: Skippable
}

/** A task whatever it results in. */
// biome-ignore lint/suspicious/noExplicitAny: stands for tasks of every result
export type AnyTask = Task<string, any, boolean>

/** The tasks that have to end first. A name is for a task that is defined further down; what it returns is unknown here. */
export type TaskParents = readonly (AnyTask | string)[]

type ResultIn<Parent> = Parent extends Task<string, infer Result, boolean> ? Result : unknown
type Skippable<Parent> = Parent extends Task<string, unknown, infer Maybe> ? Maybe : true
type NameOf<Parent> = Parent extends Task<infer Name> ? Name : Parent extends string ? Parent : never

/** What `ctx.parents()` resolves with. A parent that may not have run may be undefined; an only parent has run. */
export type ParentsOf<Parents extends TaskParents, W extends When> = {
  [Parent in Parents[number] as NameOf<Parent>]: W extends 'succeeded'
    ? Parents extends readonly [unknown]
      ? ResultIn<Parent>
      : true extends Skippable<Parent>
        ? ResultIn<Parent> | undefined
        : ResultIn<Parent>
    : ResultIn<Parent> | undefined
}

/** Whether a task may end without having run. A join runs when one of its parents did, so one that surely runs is enough. */
export type SkippableTask<If, Parents extends TaskParents, W extends When> = If extends string
  ? true
  : W extends 'succeeded'
    ? Parents extends readonly []
      ? false
      : true extends SurelyRuns<Parents>
        ? false
        : true extends Skippable<Parents[number]>
          ? true
          : false
    : true
/** Of a list whose length is not known nobody can say which parents are in it. */
type SurelyRuns<Parents extends TaskParents> = number extends Parents['length'] ? false : Sure<Parents[number]>
type Sure<Parent> = Parent extends Task<string, unknown, infer Maybe> ? (true extends Maybe ? false : true) : false

/** What the handler of a task gets as its second argument. */
export interface TaskContext<Parents = Record<string, unknown>, Input = unknown>
  extends Omit<RunContext, 'parents' | 'execution'> {
  /** What the parents of this task returned, by their names. Read once. */
  readonly parents: () => Promise<Parents>
  /** Which execution and task this job belongs to, and what the execution was started with. */
  readonly execution: () => Promise<ExecutionInHand<Input>>
}

/** What every task takes. */
export interface TaskOptions<Parents extends TaskParents = TaskParents, W extends When = When, If = string | undefined> {
  /**
   * The tasks that have to end before this one starts.
   * @default []: it starts with the execution
   */
  after?: Parents
  /**
   * `succeeded`: no parent failed, and one has run at least. `failed`: one failed, or was given up because of a failure before it.
   * `always`: whatever became of them.
   * @default 'succeeded'
   */
  when?: W
  /**
   * A jsonpath predicate over `$.input` and `$.<parent>`; where it is not true, the task is skipped.
   * @default none: it is not skipped
   */
  if?: If
}

/** What a task that is a job takes besides. */
export interface JobTaskOptions {
  /**
   * The job does not run before this much time has passed.
   * @range 0 to 100 years
   * @default 0
   */
  delay?: Duration
  /**
   * Whose job it is: limits per key, fairness and pauses go by it.
   * @default that of the execution
   */
  concurrencyKey?: string
  /**
   * Words to find the job by.
   * @default those of the execution
   */
  tags?: readonly string[]
  /**
   * 0 (low) to 9 (high).
   * @range 0 to 9
   * @default that of the execution, or of the type
   */
  priority?: number
  /**
   * How often the job may be tried in all, 1 to 20.
   * @range 1 to 20
   * @default that of the type
   */
  maxAttempts?: number
}

/** A task whose handler stands in the workflow: a type of its own, `<workflow>.<task>`, with everything a type can say. */
export interface RunTaskOptions<Payload, Context, Answer>
  extends Omit<JobTaskOptions, 'priority' | 'maxAttempts'>,
    Omit<TypeDefinition<StandardSchemaV1>, 'type' | 'aliases' | 'payload' | 'unique' | 'sharedKeys' | 'run'> {
  /** The handler of the task; the workflow has no type for it. */
  run: (payload: Payload, context: Context) => Answer
}

/** The payload of a task of an existing type: the item with `each`, the execution's input where that fits, or one of its own. */
export type PayloadOption<Each, Payload, Input> = Each extends string
  ? { payload?: never }
  : [Input] extends [Payload]
    ? { payload?: Payload }
    : { payload: Payload }

/** One result, or with `each` one for each item. */
export type ForEach<Each, Result> = Each extends string ? Result[] : Result

/** `task(name, options)` inside of `defineWorkflow`: with a handler, of an existing type, or a sub-workflow. */
export interface TaskMaker<Input, Parsed> {
  <
    const Name extends string,
    Answer,
    Item,
    const Each extends string | undefined = undefined,
    const Parents extends TaskParents = readonly [],
    const W extends When = 'succeeded',
    const If extends string | undefined = undefined,
  >(
    name: Name,
    options: TaskOptions<Parents, W, If> & { each?: Each } & RunTaskOptions<
        Each extends string ? Item : Parsed,
        TaskContext<ParentsOf<Parents, W>, Input>,
        Answer
      >,
  ): Task<Name, ForEach<Each, ResultOf<Answer>>, SkippableTask<If, Parents, W>>
  <
    const Name extends string,
    Payload,
    Result,
    const Each extends string | undefined = undefined,
    const Parents extends TaskParents = readonly [],
    const W extends When = 'succeeded',
    const If extends string | undefined = undefined,
  >(
    name: Name,
    options: TaskOptions<Parents, W, If> &
      JobTaskOptions & {
        each?: Each
        // biome-ignore lint/suspicious/noExplicitAny: what the handler makes of its payload does not matter here
        type: JobType<Payload, any, Result> | string
      } & PayloadOption<Each, NoInfer<Payload>, Input>,
  ): Task<Name, ForEach<Each, Result>, SkippableTask<If, Parents, W>>
  <
    const Name extends string,
    Own,
    Output,
    const Each extends string | undefined = undefined,
    const Parents extends TaskParents = readonly [],
    const W extends When = 'succeeded',
    const If extends string | undefined = undefined,
  >(
    name: Name,
    options: TaskOptions<Parents, W, If> & { each?: Each; workflow: Workflow<Own, Output> } & PayloadOption<
        Each,
        NoInfer<Own>,
        Input
      >,
  ): Task<Name, ForEach<Each, Output>, SkippableTask<If, Parents, W>>
}

/** What the callback of a workflow may return: whose results are the output. */
// biome-ignore lint/suspicious/noConfusingVoidType: a callback without a return has no output
export type OutputTasks = AnyTask | Readonly<Record<string, AnyTask>> | void

export type OutputOf<Tasks extends OutputTasks> =
  Tasks extends Task<string, infer Result, infer Maybe>
    ? Result | (Maybe extends false ? never : undefined)
    : Tasks extends Readonly<Record<string, AnyTask>>
      ? { [Name in keyof Tasks]: Tasks[Name] extends AnyTask ? OutputOf<Tasks[Name]> : never }
      : undefined

declare const outputOf: unique symbol

/** A workflow: a graph of tasks, what it takes and what it results in. Made by `defineWorkflow`. */
export interface Workflow<Input = unknown, Output = unknown> {
  readonly name: string
  readonly schema: StandardSchemaV1<Input, unknown> | undefined
  /** The types of the tasks whose handlers stand in the workflow, and in its sub-workflows: a worker is started with them. */
  readonly types: readonly AnyJobType[]
  /** What the database keeps of it. */
  readonly graph: Graph
  /** Which graph it is: a changed one has another hash, and gets a new version. */
  readonly hash: string
  readonly subWorkflows: readonly AnyWorkflow[]
  /** Types that tasks name and that are defined here, whether or not their handlers stand in the workflow. */
  readonly usedTypes: readonly AnyJobType[]
  readonly [outputOf]?: Output
}

/** A workflow whatever its input and output are, for lists that hold many. */
// biome-ignore lint/suspicious/noExplicitAny: input and output stand on both sides, so nothing narrower fits all
export type AnyWorkflow = Workflow<any, any>
