import type { StatusAnswer } from '../../../../src/api/status.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { Status } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { HowToEnqueue } from '../jobs/how-to-enqueue.js'

const shownAtMost = 14

export function NewestJobs({ jobs }: { jobs: StatusAnswer['jobs'] }) {
  return (
    <Card title="Newest jobs" aside={<Link to="/jobs">all</Link>}>
      <Table
        label="Newest jobs"
        rows={jobs.slice(0, shownAtMost)}
        keyOf={({ id }) => id}
        empty={<HowToEnqueue />}
        columns={[
          {
            name: 'Job',
            cell: ({ id, type, error }) => (
              <>
                <Link to={`/jobs/${id}`}>{type}</Link>
                {error && <span className="second">{error}</span>}
              </>
            ),
          },
          { name: 'Status', cell: ({ status }) => <Status status={status} /> },
          { name: 'Attempt', number: true, cell: ({ attempt, max_attempts }) => `${attempt}/${max_attempts}` },
          { name: 'Enqueued', number: true, cell: ({ created_at }) => <Moment at={String(created_at)} /> },
        ]}
      />
    </Card>
  )
}
