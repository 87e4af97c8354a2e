import type { BuildAnswer, CanaryAnswer } from '../../api/builds.js'
import type { SmokeReport } from '../../worker/smoke.js'
import type { Screen } from '../screen.js'

export function buildTable(screen: Screen, builds: readonly BuildAnswer[]): string {
  const columns = [
    { head: 'BUILD' },
    { head: 'FIRST SEEN' },
    { head: 'WORKERS', right: true },
    { head: 'COMPLETED', right: true },
    { head: 'FAILED', right: true },
    { head: 'NOTES', cut: true },
  ]
  const rows = builds.map(({ build, first_seen, workers, completed, failed, drained }) => [
    ...[build, first_seen, String(workers), String(completed), String(failed)],
    drained === null ? '' : `drained by ${drained.by}${drained.why === null ? '' : `: ${drained.why}`}`,
  ])
  return screen.table(columns, rows, 'No worker was given a build; see HOLDFAST_BUILD.')
}

/** The verdict, and under it everything that was looked at, what speaks against it first. */
export function canaryLines({ verdict, build, baseline, stage, findings }: CanaryAnswer): string {
  const { workers, fleet, next_workers: next } = stage
  const against = baseline === null ? 'nothing to compare it with' : `compared with ${baseline}`
  const then = next === null ? 'This was the last stage.' : `Next stage: ${next} of ${fleet} workers.`
  const order = ['roll back', 'wait', 'go']
  const sorted = [...findings].sort((a, b) => order.indexOf(a.says) - order.indexOf(b.says))
  return [
    `${verdict}: ${build} on ${workers} of ${fleet} workers, ${against}.`,
    ...(verdict === 'go' ? [then] : []),
    ...sorted.map(({ says, type, because }) => `  ${says.padEnd(9)}  ${type === null ? '' : `${type}: `}${because}`),
  ].join('\n')
}

/** What became of each type, what failed first. */
export function smokeLines({ build, passed, types }: SmokeReport): string {
  const order = ['failed', 'passed', 'none']
  const sorted = [...types].sort((a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome))
  const tested = types.filter(({ outcome }) => outcome !== 'none').length
  return [
    `${passed ? 'passed' : 'failed'}: ${build}, ${tested} of ${types.length} types tested.`,
    ...sorted.map(({ outcome, type, ms, because, job }) =>
      outcome === 'none'
        ? `  none    ${type}: its definition has no smoke test`
        : `  ${outcome}  ${type}${ms === null ? '' : ` in ${ms} ms`}${because === null ? '' : `: ${because}`}${because !== null && job !== null ? ` (${job})` : ''}`,
    ),
  ].join('\n')
}
