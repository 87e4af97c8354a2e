import type { slotsAnswer } from '../../../../src/api/types.js'
import type { Lane } from '../../api/answers.js'
import { type Answered, pathOf, useAnswer } from '../../api/use.js'
import { Link } from '../../parts/link.js'
import { inWords, useNow } from '../../parts/time.js'

const drawnAtMost = 120

type Slot = Answered<typeof slotsAnswer>['slots'][number]

/** The slots of a lane: each that is taken leads to its job, the one that has run for longest first. */
export function SlotPicture({ lane }: { lane: Lane }) {
  const now = useNow()
  const asked = useAnswer<Answered<typeof slotsAnswer>>(`admin/workers/lanes/${pathOf(lane.name)}/slots`, { limit: drawnAtMost })
  const taken = asked.data?.slots ?? []
  const busy = Math.max(lane.in_use, taken.length)
  const free = lane.slots === null ? 0 : Math.max(0, Math.min(drawnAtMost, lane.slots) - taken.length)
  const notDrawn = Math.max(busy, lane.slots ?? 0) - taken.length - free
  const words = ({ type, worker, stopping, since }: Slot) =>
    `${type} for ${inWords(now - Date.parse(since))}${worker === null ? '' : ` on ${worker}`}${stopping ? ', told to stop' : ''}`
  const [longest] = taken
  return (
    <div className="slots">
      <p>
        <b>{busy}</b>{' '}
        {lane.slots === null ? `${busy === 1 ? 'slot' : 'slots'} in use, no limit` : `of ${lane.slots} slots in use`}
      </p>
      <ul>
        {taken.map((slot) => (
          <li key={slot.job}>
            <Link to={`/jobs/${slot.job}`} className="slot busy" title={words(slot)}>
              <span className="unseen">{words(slot)}</span>
            </Link>
          </li>
        ))}
        {Array.from({ length: free }, (_, position) => (
          <li key={`free ${position}`} className="slot" title="free" />
        ))}
      </ul>
      {notDrawn > 0 && <p className="soft">and {notDrawn} more</p>}
      {longest && (
        <p className="soft">
          The longest runs for {inWords(now - Date.parse(longest.since))}: <Link to={`/jobs/${longest.job}`}>{longest.type}</Link>
          {longest.worker !== null && ` on ${longest.worker}`}
        </p>
      )}
    </div>
  )
}
