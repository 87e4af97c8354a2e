import { useState } from 'react'
import type { Fleet } from '../../api/answers.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'

const kept = 'holdfast.demo-is-known'

/** Tells a newcomer what moves here, and where to go first, while a worker runs the demo. */
export function AboutDemo({ workers }: { workers: Fleet['workers'] }) {
  const [known, setKnown] = useState(() => localStorage.getItem(kept) !== null)
  if (known || !workers.some(({ types }) => types.includes('demo_email'))) return null
  const hide = () => {
    localStorage.setItem(kept, 'yes')
    setKnown(true)
  }
  return (
    <Card
      title="What you see: the demo, a small shop"
      aside={
        <button type="button" className="plain" onClick={hide}>
          Hide
        </button>
      }
    >
      <p className="lead">
        About one job a second comes in, and one worker, in the process that serves this page, runs them. Every number and name
        leads to what it counts. Start with these:
      </p>
      <ul className="tour">
        <li>
          <Link to="/jobs" query={{ type: 'demo_export' }}>
            A job that waits
          </Link>{' '}
          says why: only one <code>demo_export</code> may run at a time.
        </li>
        <li>
          <Link to="/types/demo_payment">A breaker</Link> opens when the payment provider fails, for 40 s of every three minutes,
          and closes by itself.
        </li>
        <li>
          <Link to="/dead">Dead letters</Link> are jobs that failed for good: edit one, and replay it.
        </li>
        <li>
          <Link to="/approvals">A refund</Link> waits until you approve it.
        </li>
        <li>
          <Link to="/workflows">An order</Link> is a workflow; its graph shows how far it is.
        </li>
        <li>
          <Link to="/schedules">A schedule</Link> makes a job every minute. Your first own job: <Link to="/new">New job</Link>.
        </li>
      </ul>
      <p className="foot soft">
        <span>
          <code>HOLDFAST_DEMO=off npm start</code> leaves the demo out.
        </span>
      </p>
    </Card>
  )
}
