/** What `holdfast/worker` exports. */
export const workerNames = [
  'HandlerSource',
  'Health',
  'Logger',
  'MemberWorkerEvents',
  'MessageFirstLog',
  'Worker',
  'WorkerEvents',
  'WorkerOptions',
  'Workers',
  'WorkersHealth',
  'messageFirst',
  'startWorker',
  'startWorkers',
] as const
