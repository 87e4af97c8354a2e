/**
 * For a process that is a worker and nothing else. A job's objects live for some milliseconds, just long enough to be carried
 * over from one small collection to the next; V8 takes that for a reason to let the space for new objects grow, to more than
 * 100 MB where 4 would do. Measured over 200,000 jobs on Node 24: 250 MB became 135, for 5 % more processor time in the worker.
 */
export const leanHeapFlag = '--semi-space-growth-factor=1'
