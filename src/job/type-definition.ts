import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { ApprovalOption } from './approval.js'
import type { ChunkContext, ChunkJob, ChunkOptions } from './chunk.js'
import type { Dependency } from './dependency.js'
import type { Duration } from './duration.js'
import { hookNames, type TypeHooks } from './hooks.js'
import { type IsolationOptions, isolationFields } from './isolation.js'
import type { Limits } from './limits.js'
import type { BackoffOption } from './retry.js'
import type { RunContext } from './run-context.js'
import type { SmokeOption } from './smoke.js'
import type { Upcasts } from './type-fields.js'
import type { UniqueOption } from './unique.js'
import type { VerifyOption } from './verify.js'
import type { WebhookOption } from './webhook.js'

/** What `defineType` takes: the handler of a type, and the defaults of its jobs. */
export interface TypeDefinition<Schema extends StandardSchemaV1, Answer = unknown, Keep extends boolean = boolean>
  extends IsolationOptions,
    TypeHooks {
  /**
   * The name jobs of this type carry everywhere, such as `send_email`.
   * @range 1 to 200 letters, digits or _ - . : /
   */
  type: string
  /**
   * Names the type had before it was renamed: a worker of it runs the jobs that were enqueued under them, too.
   * @range at most 20
   * @default []
   */
  aliases?: readonly string[]
  /**
   * Any Standard Schema (zod, valibot, arktype …). Checked at enqueue and again before every attempt; its JSON Schema is stored
   * with the type, for producers that have not the definition.
   * @default none: any JSON
   */
  payload?: Schema
  /**
   * The version of the payload. A job whose payload has a newer version waits until a worker knows that version.
   * @range 1 to 32,767
   * @default 1
   */
  version?: number
  /**
   * How older payloads are brought up to date before the handler gets them: under each version a function that makes one of the next.
   * @default {}
   */
  upcast?: Upcasts
  /**
   * The lane whose slots its jobs take.
   * @default 'default'
   */
  lane?: string
  /**
   * The priority of its jobs, 0 (low) to 9 (high).
   * @range 0 to 9
   * @default 5
   */
  priority?: number
  /**
   * How often a job may be tried in all, 1 to 20.
   * @range 1 to 20
   * @default 5
   */
  maxAttempts?: number
  /**
   * How long a job waits after a failed attempt: base × factor^(n−1) after attempt n, at most cap, plus 0 to jitter.
   * @range base, cap and jitter 0 to 30 days, cap not below base; factor 1 and more
   * @default { base: '30s', factor: 2, cap: '1h', jitter: half of base, at most '15s' }
   */
  backoff?: BackoffOption
  /**
   * After this the attempt has failed and its slot is free.
   * @range 1 ms to 7 days
   * @default '5m'
   */
  timeout?: Duration
  /**
   * What may run at once and how fast. Set when a worker starts with a definition that changed; operators may change it after.
   * @default none
   */
  limits?: Limits
  /**
   * What its handler calls: names such as `stripe`, or what `defineDependency` returned. Every type that uses a dependency shares its limits,
   * its rate and its breaker, which its definition or operators set; a name that nobody has used before is made without limits. Set when a
   * worker starts with a definition that changed.
   * @range at most 20
   * @default []
   */
  uses?: readonly (string | Dependency)[]
  /**
   * Every job of the type has to be approved before it runs.
   * @default none
   */
  approval?: ApprovalOption
  /**
   * Which jobs of the type are one and the same, and what happens to the second, wherever an enqueue does not say otherwise; from SQL too.
   * @default none
   */
  unique?: UniqueOption
  /**
   * A dead job of the type is replayed, and a cancelled one resumed, only when whoever does it confirms it by the name of the type.
   * @default false
   */
  sensitive?: boolean
  /**
   * Jobs of the type that expire (`startBy`, `expireIn`) raise the alert of dead letters.
   * @default false
   */
  alertExpired?: boolean
  /**
   * A signed request about what happened to jobs of the type, sent by a job that the settling statement writes. Set when a worker of the type starts.
   * @default none
   */
  webhook?: WebhookOption
  /**
   * Unique and idempotency keys of the type are common to all services that enqueue over HTTP, and to the application itself.
   * @default false
   */
  sharedKeys?: boolean
  /**
   * Payloads are encrypted before they are stored, with the keys Holdfast was given.
   * @default false
   */
  encrypt?: boolean
  /**
   * What people do not see of the payload, such as `card.number` or `items[].secret`. Handlers get all of it.
   * @default []
   */
  redact?: readonly string[]
  /**
   * Paths of the payload whose values are found by index, however many jobs there are, such as `order.id`: field names joined by dots, where
   * texts, numbers, true, false or null stand, or lists of them.
   * @range at most 8
   * @default []
   */
  searchable?: readonly string[]
  /**
   * False: what `run` returns is not looked at and not kept.
   * @default true
   */
  keepResult?: Keep
  /**
   * Most bytes of JSON that `run` may return, up to 1,048,576. A job that returns more ends dead.
   * @range 1 to 1,048,576
   * @default 65_536
   */
  maxResultBytes?: number
  /**
   * A share of its completed jobs is looked at again: the true rate of success stands beside the one that handlers claim.
   * @default none
   */
  verify?: VerifyOption<StandardSchemaV1.InferOutput<Schema>>
  /**
   * One job that shows that a new build can do its work: `holdfast smoke` runs it there.
   * @default none
   */
  smoke?: SmokeOption<StandardSchemaV1.InferInput<Schema>>
  /**
   * Left out where only enqueueing is needed. What it returns is kept with the job, except for `ctx.snooze(…)`.
   * @default none: it can be enqueued and not run
   */
  run?(payload: StandardSchemaV1.InferOutput<Schema>, context: RunContext): Answer
}

/** What `defineType` takes where one call of the handler runs several jobs: the same, with `chunk` and another `run`. */
export interface ChunkDefinition<Schema extends StandardSchemaV1, Answer = unknown, Keep extends boolean = boolean>
  extends Omit<TypeDefinition<Schema, unknown, Keep>, 'run'> {
  /** How many jobs one call takes, and how long it waits for them. */
  chunk: ChunkOptions
  /**
   * Returns a list with an entry for each job, in their order: its result, an error, or `ctx.snooze(…)`. Where it returns nothing, all of
   * them have completed; where it throws, all of them have failed.
   * @default none: it can be enqueued and not run
   */
  run?(jobs: readonly ChunkJob<StandardSchemaV1.InferOutput<Schema>>[], context: ChunkContext): Answer
}

/** The names of all fields of a definition. */
export const definitionFields = [
  ...[
    'type',
    'aliases',
    'payload',
    'version',
    'upcast',
    'lane',
    'priority',
    'maxAttempts',
    'backoff',
    'timeout',
    'limits',
    'uses',
    'approval',
    'unique',
  ],
  ...[
    'sensitive',
    'alertExpired',
    'webhook',
    'sharedKeys',
    'encrypt',
    'redact',
    'searchable',
    'keepResult',
    'maxResultBytes',
    'smoke',
    'verify',
    ...isolationFields,
    ...hookNames,
    'run',
    'chunk',
  ],
]
