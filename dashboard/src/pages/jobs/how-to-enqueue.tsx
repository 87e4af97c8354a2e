import { Link } from '../../parts/link.js'
import { useMay } from '../../session/session.js'

/** Where there are no jobs yet: how the first one comes to be. */
export function HowToEnqueue() {
  const may = useMay('jobs:enqueue')
  return (
    <>
      No jobs yet. A service makes one with <code>await holdfast.enqueue('send_email', {'{ … }'})</code>, a shell with{' '}
      <code>npx holdfast enqueue send_email '{'{}'}'</code>
      {may && (
        <>
          , and you can <Link to="/new">make one here</Link>
        </>
      )}
      .
    </>
  )
}
