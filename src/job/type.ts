import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Approval, type ApprovalOption, readApproval } from './approval.js'
import { Checker } from './checker.js'
import type { Duration } from './duration.js'
import { hookNames, type JobHooks, noHooks, readTypeHooks, type TypeHooks } from './hooks.js'
import { type Isolation, type IsolationOptions, inline, isolationFields, readIsolation } from './isolation.js'
import type { JobOptions } from './job-options.js'
import { encodeLimits, type Limits } from './limits.js'
import { isMarked, marked } from './mark.js'
import { readRedactPaths } from './redaction.js'
import { trueOrFalse, wholeNumber } from './refused.js'
import { type Backoff, type BackoffFunction, type BackoffOption, defaultBackoff, readBackoff } from './retry.js'
import type { RunContext, Snooze } from './run-context.js'
import { storableText } from './text.js'
import { checkName, readAliases, readResultBytes, readTimeout, readUpcasts, type Upcasts } from './type-fields.js'
import { readUnique, refuseUnderEncryption, type Uniqueness, type UniqueOption } from './unique.js'

/** One job to enqueue, made by `type.job(payload, options)` or written by hand with a registered type's name. */
export interface JobRequest extends JobOptions {
  readonly type: string | AnyJobType
  readonly payload: unknown
}

/** A job type: what a producer needs to enqueue it and, with `run`, what a worker needs to run it. */
export interface JobType<Input = unknown, Output = unknown, Result = unknown> {
  readonly type: string
  /** Names it had before. Workers of it run jobs of these names too. */
  readonly aliases: readonly string[]
  readonly schema: StandardSchemaV1<Input, Output> | undefined
  readonly lane: string
  readonly priority: number
  readonly maxAttempts: number
  readonly timeoutMs: number
  readonly backoff: Backoff | BackoffFunction
  /** The limits of the definition, encoded for the database; undefined where it names none. */
  readonly limits: string | undefined
  readonly approval: Approval | undefined
  readonly unique: Uniqueness | undefined
  readonly sensitive: boolean
  /** The version of its payloads. */
  readonly version: number
  readonly upcast: Upcasts
  /** Expired jobs of it raise the alert of dead letters. */
  readonly alertExpired: boolean
  /** Its unique and idempotency keys are common to all services. */
  readonly sharedKeys: boolean
  readonly isolation: Isolation
  /** Payloads are stored encrypted. */
  readonly encrypt: boolean
  /** Paths of the payload that people do not see. */
  readonly redact: readonly string[]
  /** Most bytes of JSON that are kept of what `run` returns; 0: nothing of it. */
  readonly maxResultBytes: number
  /** What a worker calls when a job has ended. */
  readonly hooks: JobHooks
  /** The name of the type of which a job is enqueued for each that died. */
  readonly onDead: string | undefined
  /** Its definition, where it was given. */
  readonly reaction: AnyJobType | undefined
  readonly run: ((payload: Output, context: RunContext) => Returned<Result>) | undefined
  /** A typed request, for enqueueMany. */
  job(payload: Input, options?: JobOptions): JobRequest
}

/** What a handler that ends with this result may return. */
export type Returned<Result> = Result | Snooze | Promise<Result | Snooze>

/** What is kept of what a handler returns. */
export type ResultOf<Answer, Keep extends boolean = true> = Keep extends false ? undefined : Exclude<Awaited<Answer>, Snooze>

/** A type whatever its payload is, for lists that hold many. */
// biome-ignore lint/suspicious/noExplicitAny: payload types stand on both sides of functions, so nothing narrower fits all
export type AnyJobType = JobType<any, any, any>

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
  /** Any Standard Schema (zod, valibot, arktype …). Checked at enqueue and again before every attempt. */
  payload?: Schema
  /**
   * The version of the payload, 1 to 32,767. A job of a newer one waits until a worker knows it.
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
   * @default { base: '30s', factor: 2, cap: '1h', jitter: half of base, at most '15s' }
   */
  backoff?: BackoffOption
  /**
   * After this the attempt has failed and its slot is free.
   * @range 1 ms to 7 days
   * @default '5m'
   */
  timeout?: Duration
  /** What may run at once and how fast. Set when a worker starts with a definition that changed; operators may change it after. */
  limits?: Limits
  /** Every job of the type has to be approved before it runs. */
  approval?: ApprovalOption
  /** What every enqueue of the type says that does not say otherwise, from SQL too. */
  unique?: UniqueOption
  /**
   * A dead job of the type is replayed only when whoever does it confirms it by the name of the type.
   * @default false
   */
  sensitive?: boolean
  /**
   * Jobs of the type that expire (`startBy`, `expireIn`) raise the alert of dead letters.
   * @default false
   */
  alertExpired?: boolean
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
  /** Left out where only enqueueing is needed. What it returns is kept with the job, except for `ctx.snooze(…)`. */
  run?(payload: StandardSchemaV1.InferOutput<Schema>, context: RunContext): Answer
}

const fields = [
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
    'approval',
    'unique',
  ],
  ...[
    'sensitive',
    'alertExpired',
    'sharedKeys',
    'encrypt',
    'redact',
    'keepResult',
    'maxResultBytes',
    ...isolationFields,
    ...hookNames,
    'run',
  ],
]

/** Whether defineType made it. */
export function isJobType(value: unknown): value is AnyJobType {
  return isMarked(value)
}

/**
 * Defines a job type once, for producers and workers alike. Every problem is found here, when the program starts.
 * @example
 * import { defineType } from 'holdfast'
 * import { z } from 'zod'
 *
 * export const sendEmail = defineType({
 *   type: 'send_email',
 *   payload: z.object({ to: z.email() }),
 *   timeout: '30s',
 *   async run({ to }, { log, signal }) {
 *     const answer = await fetch('https://mail.example.com/send', { method: 'POST', body: to, signal })
 *     log(`the mail server answered ${answer.status}`)
 *     return { message: await answer.text() }
 *   },
 * })
 */
export function defineType<Schema extends StandardSchemaV1, Answer = unknown, Keep extends boolean = true>(
  definition: TypeDefinition<Schema, Answer, Keep>,
): JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<Answer, Keep>> {
  const { type, payload, lane = 'default', sensitive = false, sharedKeys = false, run } = definition
  checkName(type, 'type')
  const check = new Checker()
  check.known(definition, fields)
  check.read(() => storableText(lane, 'lane'), '')
  if (payload !== undefined && typeof payload?.['~standard']?.validate !== 'function') {
    check.wrong('payload', `of ${type} is not a Standard Schema; zod 3.24+, valibot 1+ and arktype 2+ make them`)
  }
  if (run !== undefined && typeof run !== 'function') check.wrong('run', `of ${type} is not a function`)
  const unique = check.read(() => (definition.unique && readUnique(definition.unique)) || undefined, undefined)
  const encrypt = check.read(() => trueOrFalse(definition.encrypt ?? false, 'encrypt'), false)
  if (encrypt) check.read(() => refuseUnderEncryption(unique, type), undefined)
  const version = check.read(() => wholeNumber(definition.version ?? 1, 'version', 1, 32_767), 1)
  check.read(() => readRedactPaths(definition.redact, 'redact'), [])

  const made: JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<Answer, Keep>> = {
    type,
    aliases: check.read(() => readAliases(definition.aliases, type), []),
    schema: payload as (typeof made)['schema'],
    lane,
    priority: check.read(() => wholeNumber(definition.priority ?? 5, 'priority', 0, 9), 5),
    maxAttempts: check.read(() => wholeNumber(definition.maxAttempts ?? 5, 'maxAttempts', 1, 20), 5),
    timeoutMs: check.read(() => readTimeout(definition.timeout ?? '5m', type), 1),
    backoff: check.read(() => readBackoff(definition.backoff), defaultBackoff),
    limits: check.read(() => definition.limits && encodeLimits(definition.limits), undefined),
    approval: check.read(() => readApproval(definition.approval), undefined),
    unique,
    sensitive: check.read(() => trueOrFalse(sensitive, 'sensitive'), false),
    version,
    upcast: check.read(() => readUpcasts(definition.upcast, version), {}),
    alertExpired: check.read(() => trueOrFalse(definition.alertExpired ?? false, 'alertExpired'), false),
    sharedKeys: check.read(() => trueOrFalse(sharedKeys, 'sharedKeys'), false),
    isolation: check.read(() => readIsolation(definition, type), inline),
    encrypt,
    redact: Object.freeze([...(definition.redact ?? [])]),
    maxResultBytes: check.read(() => readResultBytes(definition), 0),
    ...check.read(() => readTypeHooks(definition, type), noHooks),
    run: run as (typeof made)['run'],
    job: (input, options = {}) => ({ ...options, type: made, payload: input }),
  }
  check.done('invalid_option', `the definition of ${type} has problems`)
  return marked(made)
}

/** The type, and the same under each name it had before. */
export function underEveryName(type: AnyJobType): AnyJobType[] {
  return [type, ...type.aliases.map((alias) => marked({ ...type, type: alias, aliases: [] }))]
}
