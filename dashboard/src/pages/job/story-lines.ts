import type { JobAnswer } from '../../../../src/api/jobs.js'
import { inWords } from '../../parts/time.js'

export interface StoryLine {
  readonly at: string
  readonly say: string
  readonly more?: string
  /** The state whose colour it has. */
  readonly status?: string
}

/** Everything that happened to a job, the newest first. */
export function storyOf(job: JobAnswer): StoryLine[] {
  const lines: StoryLine[] = [
    { at: job.created_at, say: `enqueued${job.owner ? ` by ${job.owner}` : ''}` },
    ...job.attempts.map(attemptLine),
    ...job.changes.map(({ at, move, by, why }) => ({ at, say: `${move.replaceAll('_', ' ')} by ${by}${why ? `: ${why}` : ''}` })),
    ...job.steps.map(({ at, name, kind, state }) => ({ at, say: `${kind} ${name}: ${state}` })),
    ...job.signals.map(({ at, name, by, delivered }) => ({
      at,
      say: `signal ${name} from ${by}${delivered ? '' : ', not yet delivered'}`,
    })),
    ...(job.approval?.verdicts ?? []).map(({ at, by, verdict, why }) => ({
      at,
      say: `${verdict} by ${by}${why ? `: ${why}` : ''}`,
    })),
  ]
  return lines.sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
}

function attemptLine({ attempt, outcome, started_at, ended_at, worker, error }: JobAnswer['attempts'][number]): StoryLine {
  const ran = started_at ? ` after ${inWords(Date.parse(ended_at) - Date.parse(started_at))}` : ''
  const say = `attempt ${attempt} ${outcome}${ran}${worker ? ` on ${worker}` : ''}`
  const more = errorText(error)
  const status = outcome === 'completed' ? 'completed' : 'failed'
  return more === undefined ? { at: ended_at, say, status } : { at: ended_at, say, status, more }
}

function errorText(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { name, message, stack } = error as { name?: string; message?: string; stack?: string }
  return stack ?? ([name, message].filter(Boolean).join(': ') || undefined)
}
