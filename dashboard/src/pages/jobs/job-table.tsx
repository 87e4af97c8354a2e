import type { ReactNode } from 'react'
import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { Link } from '../../parts/link.js'
import { Status } from '../../parts/status.js'
import { type Column, Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import type { Selection } from './selection.js'

interface JobTableProps {
  readonly label: string
  readonly jobs: readonly JobSummaryAnswer[]
  readonly empty: ReactNode
  readonly selection?: Selection
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

export function JobTable({ label, jobs, empty, selection }: JobTableProps) {
  const shown = selection ? [picking(selection, jobs.length), ...columns] : columns
  return <Table label={label} rows={jobs} keyOf={({ id }) => id} columns={shown} empty={empty} />
}

function picking({ ids, toggle, toggleShown }: Selection, shown: number): Column<JobSummaryAnswer> {
  return {
    name: 'Select',
    head: (
      <input
        type="checkbox"
        aria-label="Select all jobs shown"
        checked={shown > 0 && ids.size >= shown}
        onChange={() => toggleShown()}
      />
    ),
    cell: ({ id, type }) => (
      <input
        type="checkbox"
        className="pick"
        aria-label={`Select ${type} …${id.slice(-8)}`}
        checked={ids.has(id)}
        onChange={() => {}}
        onClick={(event) => toggle(id, event.shiftKey)}
      />
    ),
  }
}
