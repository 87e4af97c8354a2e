// What each system is and how it is set up, for the report. The modules themselves are loaded in processes of their own.
export const systems = [
  {
    name: 'Holdfast',
    settings: 'defaults, history and every guarantee on; concurrency 24, and more jobs may wait than by default',
  },
  {
    name: 'graphile-worker',
    settings:
      'concurrency 24, localQueue 500 (refetch delay 10 ms), completion of many at a time; for the time to start and while idle, none of these three but the concurrency. Keeps no history',
  },
  {
    name: 'pg-boss',
    settings:
      'burst, batch handlers of 500 × 4; for the time to start, single jobs × 4 with LISTEN/NOTIFY. Its clock stops when the last handler ends, before that batch is written',
  },
  {
    name: 'bullmq-redis',
    settings: 'BullMQ, concurrency 100, addBulk, finished jobs removed; Redis with AOF, appendfsync everysec',
  },
  { name: 'bullmq-postgres', settings: "BullMQ's PostgreSQL backend, as on Redis, up to 24 connections" },
  {
    name: 'dbos',
    settings:
      'for steps and workflows: one queue, 24 at once, asked every millisecond; an execution is one function of three steps, where ours is three jobs. Its clock stops when the last function returns, before that end is written',
  },
  {
    name: 'floor',
    settings:
      'bare SQL through the same driver, no worker: jobs appended to a log, a claim moves a mark by 500, finished jobs appended, two connections. Not a queue: no retries, leases, types or priorities',
  },
  {
    name: 'two-commits',
    settings: 'for the time to start: one row committed with a NOTIFY, deleted by whoever hears it. No lease, no history',
  },
  {
    name: 'holdfast-sql',
    settings: "Holdfast's own statements from two bare loops, to tell the worker's share from the database's",
  },
]
