import type { TaskAnswer } from '../../../../src/api/executions.js'
import { Link } from '../../parts/link.js'
import { Table } from '../../parts/table.js'
import { inWords, Moment } from '../../parts/time.js'
import { errorText } from '../dead/error-text.js'
import { ExecutionStatus } from './execution-status.js'

export function TaskTable({ tasks }: { tasks: readonly TaskAnswer[] }) {
  return (
    <Table
      label="Tasks"
      rows={inOrder(tasks)}
      keyOf={({ name, item }) => `${name} ${item}`}
      empty="No task is listed yet."
      columns={[
        {
          name: 'Task',
          cell: (task) => (
            <>
              <TaskName task={task} />
              {task.error !== null && task.error !== undefined && <span className="second">{errorText(task.error)}</span>}
              {task.because && <span className="second">{task.because}</span>}
            </>
          ),
        },
        {
          name: 'Status',
          cell: ({ status, reused }) => (
            <>
              <ExecutionStatus status={status} />
              {reused && ', taken over'}
            </>
          ),
        },
        { name: 'After', cell: ({ after }) => after.join(', ') || '–' },
        { name: 'Started', number: true, cell: ({ started_at }) => <Moment at={started_at} /> },
        { name: 'Took', number: true, cell: tookOf },
      ]}
    />
  )
}

function TaskName({ task: { name, item, job_id, workflow } }: { task: TaskAnswer }) {
  const words = item === null ? name : `${name} [${item}]`
  if (job_id === null) return words
  return <Link to={workflow === null ? `/jobs/${job_id}` : `/workflows/${job_id}`}>{words}</Link>
}

const tookOf = ({ started_at, ended_at }: TaskAnswer) =>
  started_at === null || ended_at === null ? '–' : inWords(Date.parse(ended_at) - Date.parse(started_at))

/** As they began; what has not begun yet comes last. */
function inOrder(tasks: readonly TaskAnswer[]): readonly TaskAnswer[] {
  const begun = ({ started_at }: TaskAnswer) => (started_at === null ? Number.POSITIVE_INFINITY : Date.parse(started_at))
  return [...tasks].sort((one, other) => (begun(one) === begun(other) ? 0 : begun(one) - begun(other)))
}
