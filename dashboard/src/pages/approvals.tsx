import type { JobAnswer, JobSummaryAnswer } from '../../../src/api/jobs.js'
import { pathOf, useAnswer, usePages } from '../api/use.js'
import { Json } from '../parts/json.js'
import { Link } from '../parts/link.js'
import { More } from '../parts/more.js'
import { Card, Page } from '../parts/page.js'
import { Moment } from '../parts/time.js'
import { useSession } from '../session/session.js'
import { Decide } from './job/decide.js'

/** What waits for somebody's yes: each with what is asked for, by whom, and until when. */
export function Approvals() {
  const { list, rows, settled } = usePages<JobSummaryAnswer, 'jobs'>('jobs', 'jobs', { status: 'awaiting_approval', limit: 50 })
  return (
    <Page title="Approvals">
      <div className="stack">
        {rows.map((job) => (
          <Asked job={job} key={job.id} />
        ))}
        {settled && rows.length === 0 && !list.hasNextPage && (
          <Card>
            <p className="empty">
              Nothing waits for a decision. A job that is enqueued with <code>approval: true</code> waits here until somebody else
              approves it.
            </p>
          </Card>
        )}
        {settled && rows.length === 0 && list.hasNextPage && (
          <p className="empty">Nothing among the newest jobs waits for a decision. “More” looks further back.</p>
        )}
        <More list={list} settled={settled} />
      </div>
    </Page>
  )
}

function Asked({ job }: { job: JobSummaryAnswer }) {
  const { service } = useSession()
  const whole = useAnswer<JobAnswer>(`jobs/${pathOf(job.id)}`, {}, { everyMs: 5_000 })
  const approval = whole.data?.approval
  return (
    <Card
      title={<Link to={`/jobs/${job.id}`}>{job.type}</Link>}
      aside={
        job.owner === service ? (
          <span className="soft">your service asked for it, so somebody else decides</span>
        ) : (
          <Decide job={job} />
        )
      }
    >
      <p className="foot">
        <span>
          asked for <Moment at={job.created_at} /> {job.owner && `by ${job.owner}`}
        </span>
        {approval && (
          <span>
            {approval.verdicts.length} of {approval.quorum} approved
          </span>
        )}
        {approval?.deadline && (
          <span>
            {approval.on_deadline === 'approve' ? 'approved' : 'cancelled'} <Moment at={approval.deadline} /> if nobody decides
          </span>
        )}
        {approval?.verdicts.map(({ by, at, why }) => (
          <span key={by}>
            {by} approved <Moment at={at} />
            {why && `: ${why}`}
          </span>
        ))}
      </p>
      <Json value={job.payload} label={`payload of ${job.id.slice(-8)}`} />
    </Card>
  )
}
