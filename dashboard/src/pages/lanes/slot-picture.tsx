import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import type { Lane } from '../../api/answers.js'
import { Link } from '../../parts/link.js'
import { inWords, useNow } from '../../parts/time.js'

const drawnAtMost = 120

/**
 * The slots of a lane. A busy one leads to its job where the list of running jobs has it; that list reaches back a few thousand jobs,
 * so a job that has run for long may be drawn without one.
 */
export function SlotPicture({ lane, running }: { lane: Lane; running: readonly JobSummaryAnswer[] }) {
  const now = useNow()
  const busy = Math.max(lane.in_use, running.length)
  const known = [...running].sort((one, other) => sinceOf(one) - sinceOf(other)).slice(0, drawnAtMost)
  const unknown = Math.min(drawnAtMost, busy) - known.length
  const free = lane.slots === null ? 0 : Math.max(0, Math.min(drawnAtMost, lane.slots) - known.length - unknown)
  const notDrawn = Math.max(busy, lane.slots ?? 0) - known.length - unknown - free
  return (
    <div className="slots">
      <p>
        <b>{busy}</b> {lane.slots === null ? 'slots in use, no limit' : `of ${lane.slots} slots in use`}
      </p>
      <ul>
        {known.map((job) => (
          <li key={job.id}>
            <Link to={`/jobs/${job.id}`} className="slot busy" title={`${job.type} for ${inWords(now - sinceOf(job))}`}>
              <span className="unseen">
                {job.type} for {inWords(now - sinceOf(job))}
              </span>
            </Link>
          </li>
        ))}
        {Array.from({ length: Math.max(0, unknown) }, (_, position) => (
          <li
            key={`busy ${position}`}
            className="slot busy"
            title="busy; the list of running jobs does not reach back to its job"
          />
        ))}
        {Array.from({ length: free }, (_, position) => (
          <li key={`free ${position}`} className="slot" title="free" />
        ))}
      </ul>
      {notDrawn > 0 && <p className="soft">and {notDrawn} more</p>}
      {known[0] && (
        <p className="soft">
          The longest runs for {inWords(now - sinceOf(known[0]))}: <Link to={`/jobs/${known[0].id}`}>{known[0].type}</Link>
        </p>
      )}
    </div>
  )
}

const sinceOf = ({ started_at, created_at }: JobSummaryAnswer) => Date.parse(started_at ?? created_at)
