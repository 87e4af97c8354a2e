import type { ExecutionAnswer, ExecutionSummaryAnswer, TaskAnswer } from '../../api/executions.js'
import { ago, type Screen } from '../screen.js'
import { errorText, more } from './jobs.js'

const columns = [
  { head: 'ID' },
  { head: 'WORKFLOW', cut: true },
  { head: 'STATUS' },
  { head: 'AGE', right: true },
  { head: 'NOTES', cut: true },
]

/** A page of executions as a table. */
export function executionTable(
  screen: Screen,
  { executions, next }: { executions: readonly ExecutionSummaryAnswer[]; next: string | null },
): string {
  const rows = executions.map(({ id, workflow, version, status, created_at, rerun_of }) => [
    ...[id, `${workflow} v${version}`, status, ago(created_at)],
    rerun_of === null ? '' : `repeats ${rerun_of}`,
  ])
  return screen.table(columns, rows, 'There are no executions.') + more(screen, next)
}

/** One execution with its tasks. */
export function executionLines(
  screen: Screen,
  execution: ExecutionAnswer,
  tasks: readonly TaskAnswer[],
  andMore: boolean,
): string {
  const { id, workflow, version, status, input, output, rerun_of } = execution
  const counts = Object.entries(execution.tasks).filter(([, count]) => count > 0)
  const again = rerun_of === null ? '' : `  repeats ${rerun_of}`
  const rows = tasks.map((task) => [nameOf(task), task.status, task.job_id ?? '', errorText(task.error)])
  const shown = screen.table([{ head: '  TASK' }, { head: 'STATUS' }, { head: 'JOB' }, { head: 'ERROR', cut: true }], rows, '')
  return [
    `${screen.bold(id)}  ${workflow} v${version}  ${status}${again}`,
    `  created ${execution.created_at}${execution.ended_at === null ? '' : `  ended ${execution.ended_at}`}`,
    `  input ${JSON.stringify(input)}`,
    ...(output === undefined ? [] : [`  output ${JSON.stringify(output)}`]),
    `  tasks ${counts.map(([name, count]) => `${name}: ${count}`).join('  ')}`,
    ...(shown === '' ? [] : [shown]),
    ...(andMore ? [screen.dim('  and more; the API lists all of them')] : []),
  ].join('\n')
}

/** What tasks failed of. */
export function failures(tasks: readonly TaskAnswer[]): string {
  return tasks.map((task) => `${nameOf(task).trim()} ended dead of ${errorText(task.error)}`).join('; ')
}

function nameOf({ name, item }: TaskAnswer): string {
  return `  ${item === null ? name : `${name}[${item}]`}`
}
