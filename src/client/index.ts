export type { JobAnswer, JobBody, JobSummaryAnswer, ListQuery } from '../api/jobs.js'
export { type ErrorCode, HoldfastError } from '../errors.js'
export { defineType, type JobOptions, type JobRequest, type JobType } from '../job/type.js'
export { type ClientEnqueued, type ClientMoved, type ClientOptions, HoldfastClient } from './client.js'
