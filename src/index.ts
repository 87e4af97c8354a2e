// The library, in the order a job meets it. Loads the driver and little else; workers are in holdfast/worker.

export type { Enqueued } from './enqueue/enqueue.js'
export { type ErrorCode, errorTable, FatalError, HoldfastError, LeaseLostError, RetryableError } from './errors.js'
export type { Attempt, JobStory } from './history/story.js'
export { Holdfast, type HoldfastOptions } from './holdfast.js'
export type { Duration } from './job/duration.js'
export type { Failure } from './job/failure.js'
export type { IsolationKind, IsolationOptions } from './job/isolation.js'
export type { BackoffOption } from './job/retry.js'
export { type RunContext, Snooze } from './job/run-context.js'
export { type AnyJobType, defineType, type JobOptions, type JobRequest, type JobType, type TypeDefinition } from './job/type.js'
export type { CallerTransaction } from './store/transaction.js'
