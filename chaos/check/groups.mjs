// I21: jobs that belong together, as executions of workflows and as batches.
import { byJob, group } from './history.mjs'

export const I21 = {
  says: 'each task starts once and after its parents, every execution and batch ends, and a batch has one callback of each due kind',
  *check(history) {
    yield* executions(history)
    yield* order(history)
    yield* batches(history)
  },
}

/** Executions of which something was revived: another job may do a task, and a task may have ended again after those that follow it had begun. */
function revivedOf(history) {
  const revived = new Set(
    byJob(history)
      .of('reviving')
      .map(({ job }) => job),
  )
  return new Set(history.members.filter(({ job }) => revived.has(job)).map(({ group: id }) => id))
}

function* executions(history) {
  const { of, rows } = byJob(history)
  const revived = revivedOf(history)
  const kept = new Map(history.executions.map((execution) => [execution.id, execution]))
  for (const { execution } of of('begun')) yield kept.has(execution) || `acknowledged execution ${execution} is lost`
  const tasks = group(history.tasks, ({ execution }) => execution)
  for (const { id, workflow, status, unread } of history.executions) {
    const name = `execution ${id} of ${workflow}`
    yield (status !== 'running' && !unread) || `${name} has not ended`
    const own = tasks.get(id) ?? []
    const open = own.filter((task) => ['blocked', 'started'].includes(task.status))
    yield open.length === 0 || `${name} is ${status}, and its task ${open[0].name} is ${open[0].status}`
    const failed = own.some((task) => task.item === -1 && ['dead', 'cancelled', 'discarded'].includes(task.status))
    yield status === 'running' ||
      status === 'cancelled' ||
      failed === (status === 'failed') ||
      `${name} is ${status}, and its tasks are not`
    for (const { name: task, job, sub, status: is } of own)
      yield is !== 'completed' ||
        job === null ||
        sub ||
        rows.get(job)?.[0].status === 'completed' ||
        `task ${task} of ${name} is completed, and its job is not`
  }
  const places = group(history.members.filter(({ task, group: of_ }) => task !== null && !revived.has(of_)), ({ group: of_, task, item }) => `${task} ${item ?? ''} of execution ${of_}`) // biome-ignore format: one thought
  for (const [place, jobs] of places) yield jobs.length === 1 || `task ${place} has ${jobs.length} jobs`
}

/** Every start of a task, held against the ends of what it waits for, as the handlers tell both. */
function* order(history) {
  const { starts, finishes } = byJob(history)
  const tasks = group(history.tasks, ({ execution }) => execution)
  const jobsOf = (execution, name) =>
    (tasks.get(execution) ?? [])
      .filter((task) => task.name === name && task.status === 'completed' && task.job !== null)
      .flatMap(({ job, sub }) =>
        sub ? [...new Set((tasks.get(job) ?? []).map((task) => task.name))].flatMap((inner) => jobsOf(job, inner)) : [job],
      )
  const parentsOf = new Map(
    history.tasks.filter(({ item }) => item === -1).map((task) => [`${task.execution} ${task.name}`, task.parents]),
  )
  const revived = revivedOf(history)
  for (const { execution, name, item, job } of history.tasks) {
    const [first] = starts.get(job) ?? []
    if (!first || revived.has(execution)) continue
    for (const parent of parentsOf.get(`${execution} ${name}`) ?? [])
      for (const earlier of jobsOf(execution, parent))
        yield finishes.get(earlier)?.some(({ at }) => at < first.at) ||
          `task ${name}${item < 0 ? '' : `[${item}]`} of execution ${execution} started before its parent ${parent} had finished`
  }
}

function* batches(history) {
  const { of, rows, starts, finishes } = byJob(history)
  const kept = new Set(history.batches.map(({ id }) => id))
  for (const { batch } of of('batched')) yield kept.has(batch) || `acknowledged batch ${batch} is lost`
  // A round that somebody cancels may end without callbacks.
  const cancelled = new Set([
    ...of('batch_cancelled').map(({ batch }) => batch),
    ...history.batches.filter(({ status }) => status === 'cancelled').map(({ id }) => id),
  ])
  const rounds = new Map(history.batches.map(({ id, round }) => [id, round]))
  for (const { batch } of of('retried'))
    yield rounds.get(batch) === 2 || `batch ${batch} had failed and was retried, and is in round ${rounds.get(batch)}`
  const members = group(
    history.members.filter(({ task }) => task === null),
    (member) => member.group,
  )
  const callbacks = group(history.jobs.map(callbackOf).filter(Boolean), ({ batch }) => batch)
  for (const { id, status, round, live, ...counts } of history.batches) {
    yield (status !== 'running' && live === 0) || `batch ${id} has not ended: ${live} members are live`
    const jobs = (members.get(id) ?? []).map(({ job }) => job)
    const states = group(
      jobs.map((job) => rows.get(job)?.[0].status),
      (is) => is,
    )
    for (const is of ['completed', 'dead', 'cancelled', 'discarded'])
      yield counts[is] === (states.get(is)?.length ?? 0) ||
        `batch ${id} says ${counts[is]} members are ${is}, and ${states.get(is)?.length ?? 0} are`
    const made = callbacks.get(id)
    if (!made || status === 'running' || cancelled.has(id)) continue
    // What ended another way than it did at last had failed, or nobody could have opened another round.
    const due = { success: status === 'succeeded' ? 1 : 0, failure: status === 'succeeded' ? round - 1 : round, complete: round }
    for (const [kind, times] of Object.entries(due)) {
      const found = made.filter((callback) => callback.kind === kind)
      yield found.length === times ||
        `batch ${id} ${status} in round ${round}, and has ${found.length} callbacks of ${kind} instead of ${times}`
    }
    const first = Math.min(...made.flatMap(({ job }) => starts.get(job)?.map(({ at }) => at) ?? []))
    for (const job of round === 1 ? jobs : [])
      yield rows.get(job)?.[0].status !== 'completed' ||
        finishes.get(job)?.some(({ at }) => at < first) ||
        `a callback of batch ${id} started before its member ${job} had finished`
  }
}

/** The payload of a callback names its batch and its kind. */
function callbackOf({ id, payload }) {
  const { batch, callback } = readable(payload)
  return batch === undefined ? undefined : { job: id, batch, kind: callback }
}

function readable(payload) {
  try {
    return JSON.parse(payload) ?? {}
  } catch {
    return {}
  }
}
