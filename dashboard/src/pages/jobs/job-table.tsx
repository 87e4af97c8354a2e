import type { ReactNode } from 'react'
import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { Link } from '../../parts/link.js'
import { Status } from '../../parts/status.js'
import { type Column, Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'

interface JobTableProps {
  readonly label: string
  readonly jobs: readonly JobSummaryAnswer[]
  readonly empty: ReactNode
}

const columns: readonly Column<JobSummaryAnswer>[] = [
  {
    name: 'Job',
    cell: (job) => (
      <>
        <Link to={`/jobs/${job.id}`}>{job.type}</Link> <span className="mono soft">…{job.id.slice(-8)}</span>
        {job.concurrency_key && <span className="second">key {job.concurrency_key}</span>}
      </>
    ),
  },
  { name: 'Status', cell: ({ status }) => <Status status={status} /> },
  { name: 'Lane', cell: ({ lane }) => lane },
  { name: 'Service', cell: ({ owner }) => owner ?? '–' },
  { name: 'Priority', number: true, cell: ({ priority }) => priority },
  { name: 'Attempt', number: true, cell: ({ attempt, max_attempts }) => `${attempt}/${max_attempts}` },
  { name: 'Enqueued', number: true, cell: ({ created_at }) => <Moment at={created_at} /> },
  { name: 'Due or ended', number: true, cell: ({ finished_at, due_at }) => <Moment at={finished_at ?? due_at} /> },
]

export function JobTable({ label, jobs, empty }: JobTableProps) {
  return <Table label={label} rows={jobs} keyOf={({ id }) => id} columns={columns} empty={empty} />
}
