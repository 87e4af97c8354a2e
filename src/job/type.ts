import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Approval, type ApprovalOption, readApproval } from './approval.js'
import { type Duration, toMilliseconds } from './duration.js'
import { type Isolation, type IsolationOptions, isolationFields, readIsolation } from './isolation.js'
import { encodeLimits, type Limits } from './limits.js'
import { readRedactPaths } from './redaction.js'
import { refused, wholeNumber } from './refused.js'
import { defaultResultBytes, mostResultBytes } from './result.js'
import { type Backoff, type BackoffFunction, type BackoffOption, readBackoff } from './retry.js'
import type { RunContext, Snooze } from './run-context.js'
import { storableText } from './text.js'
import { readUnique, refuseUnderEncryption, type Uniqueness, type UniqueOption } from './unique.js'

/** What a job is asked to do beyond its payload. Whatever is left out is the type's. */
export interface JobOptions {
  /** A UUIDv7 of the producer's own. A second enqueue with it answers with the first job. */
  id?: string
  /** 0 (low) to 9 (high). */
  priority?: number
  /** How often the job may be tried in all, 1 to 20. */
  maxAttempts?: number
  /** Not before this much later. */
  delay?: Duration
  /** Not before this time. */
  runAt?: Date
  /** A second enqueue of the type with this key answers with the first job, as long as that job is kept. */
  idempotencyKey?: string
  /** Whose job this is (a tenant, an account): limits per key, fairness and pauses go by it. */
  concurrencyKey?: string
  /** Somebody has to approve the job before it runs. Can be stricter than the type asks for, never laxer. */
  approval?: ApprovalOption
  /** Which jobs of the type are one and the same, and what happens to the second. False: none, whatever the type says. */
  unique?: UniqueOption | false
  /** The W3C traceparent of the span that asks for the job. Left out: that of the span that is active, where there is one. */
  traceparent?: string
}

/** One job to enqueue, made by `type.job(payload, options)` or written by hand with a registered type's name. */
export interface JobRequest extends JobOptions {
  readonly type: string | AnyJobType
  readonly payload: unknown
}

/** A job type: what a producer needs to enqueue it and, with `run`, what a worker needs to run it. */
export interface JobType<Input = unknown, Output = unknown, Result = unknown> {
  readonly type: string
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
  /** Its unique and idempotency keys are common to all services. */
  readonly sharedKeys: boolean
  readonly isolation: Isolation
  /** Payloads are stored encrypted. */
  readonly encrypt: boolean
  /** Paths of the payload that people do not see. */
  readonly redact: readonly string[]
  /** Most bytes of JSON that are kept of what `run` returns; 0: nothing of it. */
  readonly maxResultBytes: number
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

export interface TypeDefinition<Schema extends StandardSchemaV1, Answer = unknown, Keep extends boolean = boolean>
  extends IsolationOptions {
  /** The name jobs of this type carry everywhere, such as `send_email`. */
  type: string
  /** Any Standard Schema (zod, valibot, arktype …). Checked at enqueue and again before every attempt. */
  payload?: Schema
  lane?: string
  priority?: number
  maxAttempts?: number
  backoff?: BackoffOption
  /** After this the attempt has failed and its slot is free. */
  timeout?: Duration
  /** What may run at once and how fast. Set when a worker starts with a definition that changed; operators may change it after. */
  limits?: Limits
  /** Every job of the type has to be approved before it runs. */
  approval?: ApprovalOption
  /** What every enqueue of the type says that does not say otherwise, from SQL too. */
  unique?: UniqueOption
  /** A dead job of the type is replayed only when whoever does it confirms it by the name of the type. */
  sensitive?: boolean
  /** Unique and idempotency keys of the type are common to all services that enqueue over HTTP, and to the application itself. */
  sharedKeys?: boolean
  /** Payloads are encrypted before they are stored, with the keys Holdfast was given. */
  encrypt?: boolean
  /** What people do not see of the payload, such as `card.number` or `items[].secret`. Handlers get all of it. */
  redact?: readonly string[]
  /** False: what `run` returns is not looked at and not kept. */
  keepResult?: Keep
  /** Most bytes of JSON that `run` may return, up to 1,048,576; standard: 65,536. A job that returns more ends dead. */
  maxResultBytes?: number
  /** Left out where only enqueueing is needed. What it returns is kept with the job, except for `ctx.snooze(…)`. */
  run?(payload: StandardSchemaV1.InferOutput<Schema>, context: RunContext): Answer
}

const fields = [
  'type',
  'payload',
  'lane',
  'priority',
  'maxAttempts',
  'backoff',
  'timeout',
  'limits',
  'approval',
  'unique',
  'sensitive',
  'sharedKeys',
  'encrypt',
  'redact',
  'keepResult',
  'maxResultBytes',
  ...isolationFields,
  'run',
]
const longestTimeoutMs = 7 * 86_400_000

/** Known by name, because a program may hold two copies of this package. */
const mark = Symbol.for('holdfast.type')

/** Whether defineType made it. */
export function isJobType(value: unknown): value is AnyJobType {
  return typeof value === 'object' && value !== null && mark in value
}

/** Defines a job type once, for producers and workers alike. Every problem is found here, when the program starts. */
export function defineType<Schema extends StandardSchemaV1, Answer = unknown, Keep extends boolean = true>(
  definition: TypeDefinition<Schema, Answer, Keep>,
): JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<Answer, Keep>> {
  const { type, payload, lane = 'default', sensitive = false, sharedKeys = false, run } = definition
  if (typeof type !== 'string' || !/^[\w.:/-]{1,200}$/.test(type)) {
    throw refused('type', `is ${JSON.stringify(type)}; a type name has 1 to 200 letters, digits or _ - . : /`)
  }
  storableText(lane, 'lane')
  const unknown = Object.keys(definition).find((key) => !fields.includes(key))
  if (unknown) throw refused(unknown, `is not known in the definition of ${type}; known are ${fields.join(', ')}`)
  if (payload !== undefined && typeof payload?.['~standard']?.validate !== 'function') {
    throw refused('payload', `of ${type} is not a Standard Schema; zod 3.24+, valibot 1+ and arktype 2+ make them`)
  }
  if (run !== undefined && typeof run !== 'function') throw refused('run', `of ${type} is not a function`)
  if (typeof sensitive !== 'boolean') throw refused('sensitive', `of ${type} is neither true nor false`)
  if (typeof sharedKeys !== 'boolean') throw refused('sharedKeys', `of ${type} is neither true nor false`)
  const timeoutMs = toMilliseconds(definition.timeout ?? '5m', 'timeout')
  if (timeoutMs < 1 || timeoutMs > longestTimeoutMs) throw refused('timeout', `of ${type} must lie between 1 ms and 7 days`)

  const made: JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<Answer, Keep>> = {
    type,
    schema: payload as (typeof made)['schema'],
    lane,
    priority: wholeNumber(definition.priority ?? 5, 'priority', 0, 9),
    maxAttempts: wholeNumber(definition.maxAttempts ?? 5, 'maxAttempts', 1, 20),
    timeoutMs: Math.ceil(timeoutMs),
    backoff: readBackoff(definition.backoff),
    limits: definition.limits === undefined ? undefined : encodeLimits(definition.limits),
    approval: readApproval(definition.approval),
    unique: (definition.unique && readUnique(definition.unique)) || undefined,
    sensitive,
    sharedKeys,
    isolation: readIsolation(definition, type),
    encrypt: definition.encrypt ?? false,
    redact: Object.freeze([...(definition.redact ?? [])]),
    maxResultBytes: readResultBytes(definition, type),
    run: run as (typeof made)['run'],
    job: (input, options = {}) => ({ ...options, type: made, payload: input }),
  }
  if (typeof made.encrypt !== 'boolean') throw refused('encrypt', `of ${type} is true or false`)
  readRedactPaths(definition.redact, 'redact')
  if (made.encrypt) refuseUnderEncryption(made.unique, type)
  Object.defineProperty(made, mark, { value: true })
  return Object.freeze(made)
}

function readResultBytes(
  { keepResult, maxResultBytes }: { keepResult?: boolean; maxResultBytes?: number },
  type: string,
): number {
  if (keepResult !== undefined && typeof keepResult !== 'boolean')
    throw refused('keepResult', `of ${type} is neither true nor false`)
  if (keepResult === false && maxResultBytes !== undefined)
    throw refused('maxResultBytes', `of ${type} has no use with keepResult: false`)
  return keepResult === false ? 0 : wholeNumber(maxResultBytes ?? defaultResultBytes, 'maxResultBytes', 1, mostResultBytes)
}
