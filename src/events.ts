/** Everything a worker tells: logs, metrics and hooks all read from here. The end of a job is told once it is written. */
export interface WorkerEvents {
  'job.completed': [{ job: string; type: string; attempt: number; ms: number }]
  'job.failed': [{ job: string; type: string; attempt: number; ms: number; retryInMs: number; error: string }]
  'job.dead': [{ job: string; type: string; attempt: number; reason: 'exhausted' | 'fatal' | 'poison'; error: string }]
  'job.snoozed': [{ job: string; type: string; attempt: number; delayMs: number }]
  'job.handed_back': [{ job: string; type: string; attempt: number }]
  /** A handler came to its end after its job had been cancelled. What it returned does not count. */
  'job.cancelled': [{ job: string; type: string; attempt: number; ms: number }]
  /** A result came after the lease was lost. Nothing was changed. */
  'settle.late': [{ job: string; type: string }]
  /** A handler came to its end long after its attempt had been given up: it ignored that it was told to stop. */
  'job.overran': [{ job: string; type: string; attempt: number }]
  /** Something a handler started failed after its attempt had ended: a promise nobody waited for, a late timer. */
  'job.escaped': [{ job: string; type: string; attempt: number; error: string }]
  /** A handler goes on although its attempt was given up and it was told to stop. It keeps its memory, not its slot. */
  'job.overrunning': [{ job: string; type: string; attempt: number }]
  /** The job was there at too many crashes: it runs alone, in a process of its own. */
  'job.quarantined': [{ job: string; type: string; attempt: number; crashes: number }]
  /** A thread or process of an isolated type died. After several in a row the next one starts only after a while. */
  'host.crashed': [{ type: string; reason: string; inARow: number; restMs: number }]
  'lease.lost': [{ leases: number; jobs: number }]
  'lease.rescued': [{ job: string; type: string; attempt: number; worker: number; dead: boolean }]
  /** Slots, leases or keys disagreed with the jobs they stand for and were put right; `what` is a row of find_drift(). */
  'drift.repaired': [{ what: string; repaired: number }]
  /**
   * Something this worker does beside running jobs failed, and will be tried again: `duty` is claim, promote, deadlines,
   * followers, orphans, groups, admit or settle. `of` names the job, group or type that was set aside for it, so that the others go on.
   */
  'duty.failed': [{ duty: string; of?: string; error: string }]
  /** Ticks of a schedule were missed and are not made up for: how many, counted up to a hundred, and the last of them. */
  'schedule.dropped': [{ schedule: string; ticks: number; last: string }]
  /** A schedule could not be fired. Its ticks stay due, and it is tried again after a minute. */
  'schedule.failed': [{ schedule: string; error: string }]
  /** The database cannot be reached, or does not answer. */
  'database.away': [{ error: string }]
  'database.back': [{ awayMs: number }]
}

export type WorkerEvent = keyof WorkerEvents
