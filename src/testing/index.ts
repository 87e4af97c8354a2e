// What tests need: a queue of their own, a clock they can move, a drain, a handler run by hand, and assertions about what was enqueued.

export type { Expectation, PartOf } from './assert-enqueued.js'
export type { DrainedJob, DrainOptions, DrainReport } from './drain.js'
export type { EnqueuedJob, PayloadOf } from './enqueued.js'
export type { LeftJob } from './left.js'
export { type JobRun, type RunJobOptions, type RunStep, runJob } from './run-job.js'
export { makeScratchDatabase, type ScratchDatabase } from './scratch-database.js'
export { type ScratchQueue, type ScratchQueueOptions, scratchQueue } from './scratch-queue.js'
export type { TestClock } from './test-clock.js'
