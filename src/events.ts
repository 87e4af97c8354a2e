/** Everything a worker tells: logs, metrics and hooks all read from here. The end of a job is told once it is written. */
export interface WorkerEvents {
  'job.completed': [{ job: string; type: string; attempt: number; ms: number }]
  'job.failed': [{ job: string; type: string; attempt: number; ms: number; retryInMs: number; error: string }]
  'job.dead': [{ job: string; type: string; attempt: number; reason: 'exhausted' | 'fatal'; error: string }]
  'job.snoozed': [{ job: string; type: string; attempt: number; delayMs: number }]
  'job.handed_back': [{ job: string; type: string; attempt: number }]
  /** A handler came to its end after its job had been cancelled. What it returned does not count. */
  'job.cancelled': [{ job: string; type: string; attempt: number; ms: number }]
  /** A result came after the lease was lost. Nothing was changed. */
  'settle.late': [{ job: string }]
  /** A handler came to its end after its attempt had been given up. */
  'job.overran': [{ job: string; type: string; attempt: number }]
  /** Something a handler started failed after its attempt had ended: a promise nobody waited for, a late timer. */
  'job.escaped': [{ job: string; type: string; attempt: number; error: string }]
  'lease.lost': [{ leases: number; jobs: number }]
  'lease.rescued': [{ job: string; type: string; attempt: number; worker: number; dead: boolean }]
  'database.away': [{ error: string }]
  'database.back': [{ awayMs: number }]
}

export type WorkerEvent = keyof WorkerEvents
