import type { JobAnswer } from '../../../../src/api/jobs.js'
import { type JobStatus, moves } from '../../../../src/job/state.js'
import { statusWords } from '../../parts/status.js'
import { failures } from './bars.js'

/** The life of a job from left to right; what lies above each other are ways that it can go. */
const stations: readonly (readonly JobStatus[])[] = [
  ['awaiting_approval', 'scheduled', 'blocked'],
  ['pending'],
  ['processing'],
  ['failed', 'completed', 'cancelled', 'dead'],
  ['discarded'],
]

/** Where the job stands in the life of jobs, where it has been, and what can come next. */
export function WhereItStands({ job }: { job: JobAnswer }) {
  const been = beenIn(job)
  const ways = moves.filter(({ from }) => from === job.status)
  const next = [...new Set(ways.map(({ to }) => to))]
  const by = (to: JobStatus) =>
    ways
      .filter((move) => move.to === to)
      .map((move) => move.by.replaceAll('_', ' '))
      .join(' or ')
  return (
    <>
      <ol className="states" aria-label="States of a job">
        {stations.map((station) => (
          <li key={station[0]}>
            {station.map((status) => (
              <span
                key={status}
                className="badge"
                data-status={been.has(status) ? status : undefined}
                aria-current={status === job.status ? 'step' : undefined}
              >
                {statusWords[status]}
                {been.has(status) && status !== job.status && <span className="unseen"> (it has been that)</span>}
              </span>
            ))}
          </li>
        ))}
      </ol>
      <p className="foot soft">
        {next.length === 0
          ? 'From here it goes nowhere: this is its end.'
          : `From here: ${next.map((to) => `${statusWords[to]} (${by(to)})`).join(', ')}.`}
      </p>
    </>
  )
}

/** The statuses that its story shows. A job that was enqueued for later and ran since has left no trace of that. */
function beenIn({ status, attempts, approval }: JobAnswer): ReadonlySet<string> {
  const been = new Set<string>([status])
  if (approval !== null) been.add('awaiting_approval')
  if (attempts.length > 0 || status === 'processing') for (const one of ['pending', 'processing']) been.add(one)
  if (status === 'discarded') been.add('dead')
  const failed = attempts.filter(({ outcome }) => failures.has(outcome)).length
  if (failed > (status === 'dead' || status === 'discarded' ? 1 : 0)) been.add('failed')
  return been
}
