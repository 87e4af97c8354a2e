import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Approval, readApproval } from './approval.js'
import { Checker } from './checker.js'
import { alone, type Chunk, type ChunkReturn, type EntryOf, readChunk } from './chunk.js'
import { type DefinedDependency, noUses, readUses } from './dependency.js'
import { type JobHooks, noHooks, readTypeHooks } from './hooks.js'
import { type Isolation, inline, readIsolation } from './isolation.js'
import type { JobOptions } from './job-options.js'
import { encodeLimits } from './limits.js'
import { isMarked, marked } from './mark.js'
import { readRedactPaths } from './redaction.js'
import { trueOrFalse, wholeNumber } from './refused.js'
import { type Backoff, type BackoffFunction, defaultBackoff, readBackoff } from './retry.js'
import type { RunContext, Snooze } from './run-context.js'
import { readSearchable } from './searchable.js'
import { readSmoke, type SmokeOption } from './smoke.js'
import { storableText } from './text.js'
import { type ChunkDefinition, definitionFields, type TypeDefinition } from './type-definition.js'
import { checkName, readAliases, readResultBytes, readTimeout, readUpcasts, type Upcasts } from './type-fields.js'
import { readUnique, refuseUnderEncryption, type Uniqueness } from './unique.js'
import { readVerify, type Verify } from './verify.js'
import { readWebhook, type Webhook } from './webhook.js'

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
  /** The dependencies that its handler calls. */
  readonly uses: readonly string[]
  /** Those of them whose limits stand in code. */
  readonly dependencies: readonly DefinedDependency[]
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
  /** Paths of the payload whose values are found by index. */
  readonly searchable: readonly string[]
  /** Most bytes of JSON that are kept of what `run` returns; 0: nothing of it. */
  readonly maxResultBytes: number
  /** What a worker calls when a job has ended. */
  readonly hooks: JobHooks
  /** The name of the type of which a job is enqueued for each that died. */
  readonly onDead: string | undefined
  /** Its definition, where it was given. */
  readonly reaction: AnyJobType | undefined
  /** Where requests go about its jobs. */
  readonly webhook: Webhook | undefined
  /** The job that shows that a build can do its work. */
  readonly smoke: SmokeOption | undefined
  /** How completed jobs are looked at again; undefined: they are not. */
  readonly verify: Verify | undefined
  /** Runs one job; of a type with `chunk`, in a call of its own. */
  readonly run: ((payload: Output, context: RunContext) => Returned<Result>) | undefined
  /** How a worker runs several jobs in one call; undefined where it runs each by itself. */
  readonly chunk: Chunk | undefined
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

/** Whether defineType made it. */
export function isJobType(value: unknown): value is AnyJobType {
  return isMarked(value)
}

/**
 * Defines a job type whose handler takes several jobs in one call. Each of them ends by itself.
 * @example
 * import { defineType } from 'holdfast'
 * import { z } from 'zod'
 *
 * export const indexPage = defineType({
 *   type: 'index_page',
 *   payload: z.object({ url: z.url(), text: z.string() }),
 *   chunk: { size: 100, wait: '200ms' },
 *   async run(jobs, { signal }) {
 *     const body = JSON.stringify(jobs.map(({ payload }) => payload))
 *     const answer = await fetch('https://search.example.com/bulk', { method: 'POST', body, signal })
 *     const pages = (await answer.json()) as { version: number; error?: string }[]
 *     return pages.map(({ version, error }) => (error ? new Error(error) : { version }))
 *   },
 * })
 */
export function defineType<
  Schema extends StandardSchemaV1,
  Answer extends ChunkReturn = readonly unknown[],
  Keep extends boolean = true,
>(
  definition: ChunkDefinition<Schema, Answer, Keep>,
): JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<EntryOf<Awaited<Answer>>, Keep>>
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
): JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<Answer, Keep>>
export function defineType<Schema extends StandardSchemaV1, Answer = unknown, Keep extends boolean = true>(
  definition: TypeDefinition<Schema, Answer, Keep> | ChunkDefinition<Schema, Answer, Keep>,
): JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<Answer, Keep>> {
  const { type, payload, lane = 'default', sensitive = false, sharedKeys = false, run } = definition
  checkName(type, 'type')
  const check = new Checker()
  check.known(definition, definitionFields)
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
  const chunk = check.read(() => readChunk(definition, type, run), undefined)
  const isolation = check.read(() => readIsolation(definition, type), inline)

  const made: JobType<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>, ResultOf<Answer, Keep>> = {
    type,
    aliases: check.read(() => readAliases(definition.aliases, type), []),
    schema: payload as (typeof made)['schema'],
    lane,
    priority: check.read(() => wholeNumber(definition.priority ?? 5, 'priority', 0, 9), 5),
    maxAttempts: check.read(() => wholeNumber(definition.maxAttempts ?? 5, 'maxAttempts', 1, 20), 5),
    timeoutMs: check.read(() => readTimeout(definition.timeout ?? '5m', type), 1),
    backoff: check.read(() => readBackoff(definition.backoff), defaultBackoff),
    limits: check.read(() => definition.limits && encodeLimits(definition.limits), undefined, ['limits']),
    ...check.read(() => readUses(definition.uses, type), noUses),
    approval: check.read(() => readApproval(definition.approval), undefined),
    unique,
    sensitive: check.read(() => trueOrFalse(sensitive, 'sensitive'), false),
    version,
    upcast: check.read(() => readUpcasts(definition.upcast, version), {}),
    alertExpired: check.read(() => trueOrFalse(definition.alertExpired ?? false, 'alertExpired'), false),
    sharedKeys: check.read(() => trueOrFalse(sharedKeys, 'sharedKeys'), false),
    isolation: chunk ? { ...isolation, atOnce: isolation.atOnce ?? 1 } : isolation,
    encrypt,
    redact: Object.freeze([...(definition.redact ?? [])]),
    searchable: check.read(() => readSearchable(definition), []),
    maxResultBytes: check.read(() => readResultBytes(definition), 0),
    ...check.read(() => readTypeHooks(definition, type), noHooks),
    webhook: check.read(() => readWebhook(definition.webhook, type), undefined),
    smoke: check.read(() => readSmoke(definition.smoke, type), undefined),
    verify: check.read(() => readVerify(definition.verify, type), undefined),
    run: (run && chunk ? alone(chunk.run, type) : run) as (typeof made)['run'],
    chunk,
    job: (input, options = {}) => ({ ...options, type: made, payload: input }),
  }
  check.done('invalid_option', `the definition of ${type} has problems`)
  return marked(made)
}

/** The type, and the same under each name it had before. */
export function underEveryName(type: AnyJobType): AnyJobType[] {
  return [type, ...type.aliases.map((alias) => marked({ ...type, type: alias, aliases: [] }))]
}
