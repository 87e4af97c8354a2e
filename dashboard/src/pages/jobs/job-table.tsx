import type { ReactNode } from 'react'
import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { writeExactly } from '../../api/json.js'
import { Link } from '../../parts/link.js'
import { Status } from '../../parts/status.js'
import { type Column, Table } from '../../parts/table.js'
import { inWords, Moment } from '../../parts/time.js'
import { standardColumns } from './columns.js'
import type { Selection } from './selection.js'

interface JobTableProps {
  readonly label: string
  readonly jobs: readonly JobSummaryAnswer[]
  readonly empty: ReactNode
  readonly selection?: Selection
  /** The columns beside the job itself. */
  readonly shown?: readonly string[]
}

const columns: readonly Column<JobSummaryAnswer>[] = [
  {
    name: 'Job',
    cell: (job) => (
      <>
        <Link to={`/jobs/${job.id}`}>{job.type}</Link> <span className="mono soft">…{job.id.slice(-8)}</span>
      </>
    ),
  },
  { name: 'Status', cell: ({ status }) => <Status status={status} /> },
  { name: 'Lane', cell: ({ lane }) => lane },
  { name: 'Service', cell: ({ owner }) => owner ?? '–' },
  { name: 'Key', cell: ({ concurrency_key }) => concurrency_key ?? '–' },
  { name: 'Tags', cell: ({ tags }) => (tags.length === 0 ? '–' : tags.join(', ')) },
  { name: 'Payload', cell: ({ payload }) => <code className="breakable">{beginning(payload)}</code> },
  { name: 'Priority', number: true, cell: ({ priority }) => priority },
  { name: 'Attempt', number: true, cell: ({ attempt, max_attempts }) => `${attempt}/${max_attempts}` },
  { name: 'Enqueued', number: true, cell: ({ created_at }) => <Moment at={created_at} /> },
  { name: 'Due or ended', number: true, cell: ({ finished_at, due_at }) => <Moment at={finished_at ?? due_at} /> },
  { name: 'Took', number: true, cell: (job) => tookOf(job) },
]

/** From its enqueue to its end, with all its waiting. */
function tookOf({ created_at, finished_at }: JobSummaryAnswer): string {
  return finished_at === null ? '–' : inWords(Date.parse(finished_at) - Date.parse(created_at))
}

const shownOfPayload = 80

function beginning(payload: unknown): string {
  const text = writeExactly(payload)
  return text.length > shownOfPayload ? `${text.slice(0, shownOfPayload)}…` : text
}

export function JobTable({ label, jobs, empty, selection, shown = standardColumns }: JobTableProps) {
  const chosen = columns.filter(({ name }) => name === 'Job' || shown.includes(name))
  const all = selection ? [picking(selection, jobs.length), ...chosen] : chosen
  return <Table label={label} rows={jobs} keyOf={({ id }) => id} columns={all} empty={empty} />
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
