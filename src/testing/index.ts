// What tests need: a queue of their own, a clock they can move, a drain, and assertions about what was enqueued.

export type { Expectation, PartOf } from './assert-enqueued.js'
export type { DrainOptions, DrainReport } from './drain.js'
export type { EnqueuedJob, PayloadOf } from './enqueued.js'
export type { LeftJob } from './left.js'
export { makeScratchDatabase, type ScratchDatabase } from './scratch-database.js'
export { type ScratchQueue, type ScratchQueueOptions, scratchQueue } from './scratch-queue.js'
export type { TestClock } from './test-clock.js'
