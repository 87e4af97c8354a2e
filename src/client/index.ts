export { type ErrorCode, HoldfastError } from '../errors.js'
export { defineType, type JobOptions, type JobRequest, type JobType } from '../job/type.js'
export type { JobAnswer, JobBody, JobSummaryAnswer, ListQuery } from '../server/schemas/jobs.js'
export { type ClientEnqueued, type ClientMoved, type ClientOptions, HoldfastClient } from './client.js'
