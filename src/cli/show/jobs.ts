import type { ExplainAnswer, JobAnswer, JobSummaryAnswer, ListAnswer } from '../../api/jobs.js'
import { ago, type Screen, words } from '../screen.js'
import { oneLine } from '../table.js'

const columns = [
  { head: 'ID' },
  { head: 'TYPE', cut: true },
  { head: 'STATUS', cut: true },
  { head: 'TRY', right: true },
  { head: 'AGE', right: true },
  { head: 'LANE', cut: true },
  { head: 'NOTES', cut: true },
]

/** A page of jobs as a table. */
export function jobTable(screen: Screen, { jobs, next, looked_back_to }: ListAnswer): string {
  const rows = jobs.map((job) => [
    ...[job.id, job.type, words(job.status), `${job.attempt}/${job.max_attempts}`, ago(job.created_at), job.lane],
    notesOf(job).join(' '),
  ])
  // A page of what is rare may be empty before its end.
  const none = next === null ? 'There are no such jobs.' : `There are no such jobs back to ${looked_back_to}.`
  return screen.table(columns, rows, none) + more(screen, next)
}

/** Where the next page begins. */
export function more(screen: Screen, next: string | null): string {
  return next === null ? '' : `\n${screen.dim(`more: --cursor ${next}`)}`
}

/** One job with everything that happened to it. */
export function jobLines(screen: Screen, job: JobAnswer): string {
  const { payload, due_at, attempts, changes, progress, approval, steps, signals, result } = job
  const indented = (...parts: (string | null | undefined)[]) => `  ${parts.filter(Boolean).map(text).join('  ')}`
  return [
    `${screen.bold(job.id)}  ${text(job.type)}  ${words(job.status)}`,
    indented(`attempt ${job.attempt} of ${job.max_attempts}`, `priority ${job.priority}`, `lane ${job.lane}`, ...notesOf(job)),
    indented(`created ${job.created_at}`, job.owner && `by ${job.owner}`),
    ...(due_at === null ? [] : [indented(`due ${due_at}`)]),
    indented(`payload ${JSON.stringify(payload)}`),
    ...(result === undefined ? [] : [indented(`result ${JSON.stringify(result)}`)]),
    ...(progress === null ? [] : [indented(`progress ${Math.round(progress.fraction * 100)} %`, progress.note)]),
    ...(approval === null ? [] : [indented(`approvals ${approval.verdicts.length} of ${approval.quorum}`)]),
    ...steps.map(({ name, state, at }) => indented(`step ${name}`, words(state), at)),
    ...signals.map(({ name, by, at, delivered }) => indented(`signal ${name}`, `by ${by}`, at, delivered ? '' : 'not delivered')),
    ...attempts.map(({ attempt, outcome, ended_at, worker, build, error }) =>
      indented(
        `attempt ${attempt}`,
        words(outcome),
        ended_at,
        build === null ? worker : `${worker} (${build})`,
        errorText(error),
      ),
    ),
    ...changes.map(({ move, by, why, at }) => indented(words(move), `by ${by}`, at, why)),
  ].join('\n')
}

/** Why a job is not running now. */
export function explanationLines(screen: Screen, { id, type, status, gates }: ExplainAnswer): string {
  const described = ({ why, opens, held_by }: ExplainAnswer['gates'][number]) => [
    `  ${text(why)}`,
    ...held_by.map((job) => `    ${screen.dim(job)}`),
    `  ${screen.dim('opens with')} ${text(opens)}`,
  ]
  const [first, ...others] = gates
  return [
    `${screen.bold(id)}  ${text(type)}  ${words(status)}`,
    ...(first ? ['', ...described(first)] : []),
    ...(others.length > 0 ? ['', screen.dim('and then:')] : []),
    ...others.flatMap(described),
  ].join('\n')
}

export function errorText(error: unknown): string {
  const { name, message } = (error ?? {}) as { name?: string; message?: string }
  return message === undefined ? '' : `${name ?? 'Error'}: ${message}`
}

function notesOf({ concurrency_key, tags }: JobSummaryAnswer): string[] {
  return [...(concurrency_key === null ? [] : [`key ${concurrency_key}`]), ...tags.map((tag) => `#${tag}`)]
}

/** What users wrote, without what would control the terminal. */
function text(value: string | null | undefined): string {
  return oneLine(value ?? '')
}
