import type { ErrorAnswer } from '../../../../src/api/errors.js'
import type { JobAnswer } from '../../../../src/api/jobs.js'
import { pathOf, useAnswer } from '../../api/use.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { Moment } from '../../parts/time.js'
import { useMay } from '../../session/session.js'
import { Spark } from '../errors/spark.js'

const over = 30

/** Whether this job is alone with its error: how often it happened, in which types, since when. */
export function SimilarFailures({ job }: { job: JobAnswer }) {
  const fingerprint = fingerprintOf(job)
  const enabled = useMay('workers:view') && fingerprint !== undefined
  const found = useAnswer<ErrorAnswer>(`errors/${pathOf(fingerprint ?? '')}`, {}, { enabled, everyMs: 5_000 })
  if (!enabled || found.data === undefined) return null
  const own = found.data.groups.find(({ type }) => type === job.type)
  const others = found.data.groups.filter((group) => group !== own)
  if (own === undefined) return null
  return (
    <Card
      title="Similar failures"
      aside={
        <Link to={`/errors/${fingerprint}`} query={{ type: job.type }}>
          the group
        </Link>
      }
    >
      <div className="inset">
        <p>
          <b className="large">
            <Count count={own.count} />
          </b>{' '}
          {own.count === 1 ? 'attempt' : 'attempts'} of {job.type} failed like this one: first <Moment at={own.first_at} />, last{' '}
          <Moment at={own.last_at} />.{' '}
          <Link to="/jobs" query={{ error_group: fingerprint, type: job.type }}>
            Their jobs
          </Link>
        </p>
        <Spark days={own.days} over={over} />
        {others.length > 0 && <p className="soft">Also in {others.map(({ type, count }) => `${type} (${count})`).join(', ')}.</p>}
      </div>
    </Card>
  )
}

/** Of the last attempt that failed. */
function fingerprintOf({ attempts }: JobAnswer): string | undefined {
  const errors = attempts.map(({ error }) => (error as { fingerprint?: unknown } | null)?.fingerprint)
  return errors.findLast((one): one is string => typeof one === 'string')
}
