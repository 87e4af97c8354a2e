import type { JobAnswer } from '../../../../src/api/jobs.js'

/** What a job did for a while. */
export interface Bar {
  readonly kind: 'wait' | 'run' | 'backoff'
  readonly from: number
  readonly to: number
  /** The state whose colour it has. */
  readonly status: string
}

/** One attempt, or the one that comes: what it waited for, and how it ran. */
export interface AttemptRow {
  readonly attempt: number
  readonly bars: readonly Bar[]
  readonly outcome: string
  readonly worker: string | null
  readonly error: string | undefined
}

/** Outcomes after which a job is tried again, if it has attempts left. */
export const failures: ReadonlySet<string> = new Set(['failed', 'timed_out', 'out_of_memory', 'crashed', 'lease_expired'])
const looks: Readonly<Record<string, string>> = {
  completed: 'completed',
  snoozed: 'scheduled',
  handed_back: 'pending',
  cancelled: 'cancelled',
}
const retried = new Set(['scheduled', 'failed', 'pending', 'blocked'])

/** The attempts of a job in time: it waits for its first, runs, waits to be tried again, and runs. A text that is no time is no bar. */
export function rowsOf(job: JobAnswer, now: number): AttemptRow[] {
  const rows: AttemptRow[] = []
  let waitsFrom = Date.parse(job.created_at)
  let failed = false
  const waitBar = (to: number): Bar[] =>
    to > waitsFrom ? [{ kind: failed ? 'backoff' : 'wait', from: waitsFrom, to, status: failed ? 'failed' : 'pending' }] : []
  for (const { attempt, outcome, started_at, ended_at, worker, error } of job.attempts) {
    const [from, to] = [Date.parse(started_at ?? ended_at), Date.parse(ended_at)]
    if (Number.isNaN(from) || Number.isNaN(to)) continue
    const status = failures.has(outcome) ? 'failed' : (looks[outcome] ?? 'pending')
    rows.push({ attempt, outcome, worker, error: messageOf(error), bars: [...waitBar(from), { kind: 'run', from, to, status }] })
    waitsFrom = to
    failed = status === 'failed'
  }
  const begun = Date.parse(job.started_at ?? '')
  if (job.status === 'processing' && !Number.isNaN(begun)) {
    const runs: Bar = { kind: 'run', from: begun, to: Math.max(now, begun), status: 'processing' }
    rows.push({ attempt: job.attempt, outcome: 'runs', worker: null, error: undefined, bars: [...waitBar(begun), runs] })
  } else if (retried.has(job.status) && !Number.isNaN(waitsFrom)) {
    const due = Date.parse(job.due_at ?? '')
    const until = Number.isNaN(due) ? now : Math.max(due, now)
    rows.push({ attempt: job.attempt, outcome: 'waits', worker: null, error: undefined, bars: waitBar(until) })
  }
  return rows
}

function messageOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { name, message } = error as { name?: string; message?: string }
  return [name, message].filter(Boolean).join(': ') || undefined
}
