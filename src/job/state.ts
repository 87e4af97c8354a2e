/** Every status a job can have, as everyone sees it, with what it means to a person. */
export const statuses = {
  awaiting_approval: 'Somebody has to approve it before it may run',
  scheduled: 'Waits for a time in the future',
  blocked: 'Waits for a signal, another job to end, or a newer worker',
  pending: 'Due, and waits for a free worker',
  processing: 'A worker holds its lease and runs it now',
  failed: 'An attempt failed; the next one is scheduled',
  completed: 'Done; its handler succeeded',
  cancelled: 'Stopped by somebody; it runs again only if somebody resumes it',
  dead: 'Failed for good; a dead letter until somebody replays or discards it',
  discarded: 'Was dead, and somebody decided that it need not run',
} as const satisfies Record<string, string>

/** Where a job stands. docs/job-states.md says how it gets from one to the next. */
export type JobStatus = keyof typeof statuses

export type Cause =
  | 'enqueue'
  | 'approve'
  | 'reject'
  | 'promote'
  | 'reschedule'
  | 'claim'
  | 'complete'
  | 'fail'
  | 'exhaust'
  | 'expire'
  | 'bury'
  | 'snooze'
  | 'block'
  | 'unblock'
  | 'hand_back'
  | 'rescue'
  | 'cancel'
  | 'replay'
  | 'discard'
  | 'resume'

/** From null is creation. */
export interface Move {
  readonly from: JobStatus | null
  readonly to: JobStatus
  readonly by: Cause
}

/**
 * The whole life of a job, in the order it lives it. What is not in this table does not happen: the diagram in the docs
 * and the checks in the database are tested against it. Changes that keep the status (a new priority, a later time for
 * a scheduled job) are no moves.
 */
export const moves: readonly Move[] = [
  { from: null, to: 'awaiting_approval', by: 'enqueue' },
  { from: null, to: 'scheduled', by: 'enqueue' },
  { from: null, to: 'pending', by: 'enqueue' },
  // Behind another job of its unique key, which runs; or newer than every worker.
  { from: null, to: 'blocked', by: 'enqueue' },

  { from: 'awaiting_approval', to: 'scheduled', by: 'approve' },
  { from: 'awaiting_approval', to: 'pending', by: 'approve' },
  // Newer than every worker.
  { from: 'awaiting_approval', to: 'blocked', by: 'approve' },
  { from: 'awaiting_approval', to: 'cancelled', by: 'reject' },
  { from: 'awaiting_approval', to: 'cancelled', by: 'cancel' },
  // It had to start by a time that is over.
  { from: 'awaiting_approval', to: 'dead', by: 'expire' },
  { from: 'awaiting_approval', to: 'dead', by: 'bury' },

  { from: 'scheduled', to: 'pending', by: 'promote' },
  { from: 'scheduled', to: 'pending', by: 'reschedule' },
  // Newer than every worker.
  { from: 'scheduled', to: 'blocked', by: 'promote' },
  { from: 'scheduled', to: 'blocked', by: 'reschedule' },
  { from: 'scheduled', to: 'cancelled', by: 'cancel' },
  { from: 'scheduled', to: 'dead', by: 'expire' },
  { from: 'scheduled', to: 'dead', by: 'bury' },

  // What it waited for has come, or its time for that is over.
  { from: 'blocked', to: 'pending', by: 'unblock' },
  { from: 'blocked', to: 'scheduled', by: 'unblock' },
  { from: 'blocked', to: 'awaiting_approval', by: 'unblock' },
  { from: 'blocked', to: 'cancelled', by: 'cancel' },
  { from: 'blocked', to: 'dead', by: 'expire' },
  { from: 'blocked', to: 'dead', by: 'bury' },

  { from: 'pending', to: 'processing', by: 'claim' },
  { from: 'pending', to: 'scheduled', by: 'reschedule' },
  { from: 'pending', to: 'cancelled', by: 'cancel' },
  { from: 'pending', to: 'dead', by: 'expire' },
  { from: 'pending', to: 'dead', by: 'bury' },

  { from: 'processing', to: 'completed', by: 'complete' },
  { from: 'processing', to: 'failed', by: 'fail' },
  // No attempts left, an error no retry can help, or a job that crashed its worker too often.
  { from: 'processing', to: 'dead', by: 'exhaust' },
  { from: 'processing', to: 'scheduled', by: 'snooze' },
  // Its handler waits for a signal.
  { from: 'processing', to: 'blocked', by: 'block' },
  // A worker that shuts down gives the job back: no attempt is spent.
  { from: 'processing', to: 'pending', by: 'hand_back' },
  // A worker that died did not: the attempt is spent, and the job runs again.
  { from: 'processing', to: 'pending', by: 'rescue' },
  { from: 'processing', to: 'cancelled', by: 'cancel' },

  { from: 'failed', to: 'pending', by: 'promote' },
  { from: 'failed', to: 'pending', by: 'reschedule' },
  { from: 'failed', to: 'cancelled', by: 'cancel' },
  { from: 'failed', to: 'dead', by: 'bury' },

  { from: 'dead', to: 'pending', by: 'replay' },
  // With another payload than the one somebody had approved.
  { from: 'dead', to: 'awaiting_approval', by: 'replay' },
  // Another job has its unique key now.
  { from: 'dead', to: 'blocked', by: 'replay' },
  { from: 'dead', to: 'discarded', by: 'discard' },

  { from: 'cancelled', to: 'pending', by: 'resume' },
  // It had not started, and was enqueued for a time that has not come.
  { from: 'cancelled', to: 'scheduled', by: 'resume' },
  { from: 'cancelled', to: 'awaiting_approval', by: 'resume' },
  // Another job has its unique key now.
  { from: 'cancelled', to: 'blocked', by: 'resume' },
]

export function isStatus(text: string): text is JobStatus {
  return Object.hasOwn(statuses, text)
}

export function canMove(from: JobStatus | null, to: JobStatus): boolean {
  return moves.some((move) => move.from === from && move.to === to)
}

/** True where no move leads out. `dead` and `cancelled` are not final: a person can still decide otherwise. */
export function isFinal(status: JobStatus): boolean {
  return !moves.some((move) => move.from === status)
}
