import type { BulkAnswer } from '../../../../src/api/bulk.js'
import { pathOf, usePages } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'

const states = {
  waiting: 'pending',
  running: 'processing',
  completed: 'completed',
  aborted: 'cancelled',
  failed: 'dead',
} as const
const width = 600

/** What was done to many jobs at once: how far it is, by whom, and what was refused. */
export function BulkActions() {
  const { list, rows } = usePages<BulkAnswer, 'actions'>('bulk', 'actions', { limit: 50 })
  return (
    <Page title="Bulk actions">
      <Card>
        {list.data && (
          <Table
            label="Bulk actions"
            rows={rows}
            keyOf={({ id }) => id}
            empty={
              <>
                No bulk action yet. Select <Link to="/jobs">jobs</Link> with x, or all that fit a filter, and choose what to do
                with them: it runs in the background, and stands here for 90 days.
              </>
            }
            columns={[
              {
                name: 'Action',
                cell: (bulk) => (
                  <>
                    <Link to={`/jobs/${bulk.id}`}>{bulk.action}</Link>
                    <span className="second">{whichJobs(bulk)}</span>
                  </>
                ),
              },
              {
                name: 'Status',
                cell: ({ status }) => (
                  <span className="status" data-status={states[status]}>
                    {status}
                  </span>
                ),
              },
              { name: 'Progress', cell: (bulk) => <Progress bulk={bulk} /> },
              {
                name: 'By',
                cell: ({ by, why, aborted_by, aborted_why }) => (
                  <>
                    {by}
                    {why && <span className="second">{why}</span>}
                    {aborted_by && (
                      <span className="second">
                        aborted by {aborted_by}
                        {aborted_why && `: ${aborted_why}`}
                      </span>
                    )}
                  </>
                ),
              },
              { name: 'Begun', number: true, cell: ({ created_at }) => <Moment at={created_at} /> },
              { name: 'Ended', number: true, cell: ({ ended_at }) => <Moment at={ended_at} /> },
            ]}
            acts={(bulk) => bulk.ended_at === null && <Abort bulk={bulk} />}
          />
        )}
        <More list={list} />
      </Card>
    </Page>
  )
}

function Progress({ bulk: { matched, done, estimate, more, refused, status } }: { bulk: BulkAnswer }) {
  const whole = Math.max(1, status === 'completed' ? matched : Math.max(matched, estimate))
  const reasons = Object.entries(refused as Readonly<Record<string, number>>)
  return (
    <div className="shares">
      <svg viewBox={`0 0 ${width} 8`} preserveAspectRatio="none" role="img" aria-label={`${done} of ${whole} jobs`}>
        <rect x="0" y="0" width={width} height="8" fill="var(--sunken)" />
        <rect x="0" y="0" width={(matched / whole) * width} height="8" fill="var(--faint)" />
        <rect data-status="completed" x="0" y="0" width={(done / whole) * width} height="8" fill="var(--state)" />
      </svg>
      <p>
        <span>
          <Count count={done} /> done of{' '}
          <Count count={status === 'completed' ? matched : estimate} more={more && status !== 'completed'} />
        </span>
        {reasons.map(([reason, count]) => (
          <span key={reason} className="soft">
            {count} refused: {reason}
          </span>
        ))}
      </p>
    </div>
  )
}

function Abort({ bulk: { id, action } }: { bulk: BulkAnswer }) {
  return (
    <Act
      name="Abort"
      title={`Abort this ${action}?`}
      says="It ends after the portion under way. What is done stays done."
      needs="jobs:cancel"
      posts={`bulk/${pathOf(id)}/abort`}
      done="Aborted"
    />
  )
}

function whichJobs({ filter, estimate, settings, pace }: BulkAnswer): string {
  const fields = Object.entries(filter ?? {}).map(([name, value]) => `${name.replaceAll('_', ' ')} ${wordsOf(value)}`)
  const which = filter === null ? [`${estimate} selected`] : fields.length === 0 ? ['all jobs'] : fields
  const { priority, run_at } = settings as { priority?: number; run_at?: string }
  if (priority !== undefined) which.push(`to priority ${priority}`)
  if (run_at !== undefined) which.push(`to ${run_at}`)
  if (pace !== null) which.push(`${pace} a second`)
  return which.join(', ')
}

const wordsOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
