import { FatalError } from '../errors.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { TaskInHand } from '../run/services.js'
import type { ExecutionStore, TaskResultRow } from '../store/execution-store.js'

/** The task that a job is, with what its parents returned; null: the job belongs to no execution. */
export async function readTask(store: ExecutionStore, privacy: Privacy, job: string): Promise<TaskInHand | null> {
  const task = await store.taskOfJob(job)
  if (!task) return null
  const { execution, workflow, name, item } = task
  try {
    const input = privacy.decrypt(execution, task.input)
    const rows = task.parents.length === 0 ? [] : await store.results(execution, task.parents)
    return { execution, workflow, name, item, input, parents: resultsByTask(rows, (row, text) => resultOf(privacy, row, text)) }
  } catch (error) {
    throw error instanceof UnreadableError ? new FatalError(error.message) : error
  }
}

/** The JSON of what each task resulted in: of one with items, a list of that; null where it did not complete or returned nothing. */
export function resultsByTask(
  rows: readonly TaskResultRow[],
  read: (row: TaskResultRow, text: string) => string,
): Record<string, string | null> {
  const textOf = (row: TaskResultRow): string | null => (row.result === null ? null : read(row, row.result))
  const found: Record<string, string | null> = {}
  for (const row of rows.filter(({ item }) => item === -1)) {
    if (row.status !== 'completed') found[row.name] = null
    else if (!row.fans_out) found[row.name] = textOf(row)
    else {
      const items = rows.filter(({ name, item }) => name === row.name && item >= 0).sort((one, other) => one.item - other.item)
      found[row.name] = `[${items.map((item) => textOf(item) ?? 'null').join(',')}]`
    }
  }
  return found
}

/** What a task's job returned, decrypted; of a sub-workflow, its output, which is never encrypted. */
export function resultOf(privacy: Privacy, { job_id: job, type, encrypted }: TaskResultRow, text: string): string {
  if (type === null || job === null) return text
  return privacy.decrypt(job, text, 'result', { type, encrypted: encrypted === true })
}
