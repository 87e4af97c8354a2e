export type { BatchAnswer } from '../api/batches.js'
export type { EventAnswer, EventQuery } from '../api/events.js'
export type {
  ExecutionAnswer,
  ExecutionListQuery,
  ExecutionSummaryAnswer,
  TaskAnswer,
  TaskListQuery,
} from '../api/executions.js'
export type { JobAnswer, JobBody, JobSummaryAnswer, ListQuery } from '../api/jobs.js'
export { type ErrorCode, HoldfastError } from '../errors.js'
export type { JobOptions } from '../job/job-options.js'
export { defineType, type JobRequest, type JobType } from '../job/type.js'
export type { ClientBatch } from './batch-body.js'
export { type ClientEnqueued, type ClientMoved, type ClientOptions, HoldfastClient } from './client.js'
export type { ClientEventPage, ClientEvents, ClientFollowOptions } from './events.js'
export type { ClientExecutions, ClientStartOptions } from './executions.js'
