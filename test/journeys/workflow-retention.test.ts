import { defineWorkflow, FatalError } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { freshQueue } from '../support/workflows.js'

const parts = defineWorkflow({
  name: 'parts',
  tasks(task) {
    const list = task('list', {
      run: (how) => {
        if (how === 'bad') throw new FatalError('broken')
        return ['x', 'y']
      },
    })
    const each = task('each', { after: [list], each: '$.list[*]', run: (item) => String(item).toUpperCase() })
    return task('last', { after: [each], run: async (_, { parents }) => (await parents()).each.join('') })
  },
})
const broken = { now: true }
const inner = defineWorkflow({
  name: 'inner',
  tasks: (task) =>
    task('x', {
      run: () => {
        if (broken.now) throw new FatalError('broken')
        return 'x'
      },
    }),
})
const outer = defineWorkflow({
  name: 'outer',
  onFailure: 'continue',
  tasks: (task) => ({ sub: task('sub', { workflow: inner }), much: task('much', { delay: '30d', run: () => 1 }) }),
})
const later = defineWorkflow({ name: 'later', tasks: (task) => task('much', { delay: '30d', run: () => 1 }) })

test('an execution goes after its time with every task and item of it; failed ones stay as long as dead letters, running ones always', async () => {
  const queue = await freshQueue([...parts.types, ...later.types])
  const { executions } = queue.holdfast
  const [good, bad, running] = await Promise.all([
    executions.start(parts, 'good'),
    executions.start(parts, 'bad'),
    executions.start(later, null),
  ])
  expect(await executions.wait(good)).toBe('XY')
  await expect(executions.wait(bad)).rejects.toMatchObject({ code: 'execution_failed' })
  await eventually(async () => (await queue.sql('select from holdfast.group_changes')).length === 0)
  const kept = async (table: string, column: string) =>
    Object.fromEntries(
      (await queue.sql(`select ${column} as id, count(*)::int from holdfast.${table} group by 1`)).map((row) => [
        row.id,
        row.count,
      ]),
    )
  const sweep = () => insideOf(queue.holdfast).store.partitions.sweep({ completedMs: 86_400_000, deadMs: 30 * 86_400_000 }, 1_000)
  const daysPass = (days: number) =>
    queue.sql('update holdfast.executions set ended_at = ended_at - make_interval(days => $1)', [days])

  await sweep()
  expect(await kept('tasks', 'execution_id')).toEqual({ [good.id]: 5, [bad.id]: 3, [running.id]: 1 })
  await daysPass(2)
  await sweep()
  expect(await executions.get(good.id)).toBeUndefined()
  expect(await kept('tasks', 'execution_id')).toEqual({ [bad.id]: 3, [running.id]: 1 })
  expect(await kept('members', 'group_id')).toEqual({ [bad.id]: 2, [running.id]: 1 })
  expect((await executions.tasks(bad.id)).tasks.map(({ name, status }) => [name, status])).toEqual([
    ['each', 'skipped'],
    ['last', 'skipped'],
    ['list', 'dead'],
  ])
  await daysPass(40)
  await sweep()
  expect(await kept('tasks', 'execution_id')).toEqual({ [running.id]: 1 })
  expect(await kept('open_groups', 'group_id')).toEqual({ [running.id]: 1 })
  expect(await executions.get(running.id)).toMatchObject({ status: 'running' })
})

test('the execution that a task is stays as long as the one whose task it is, so that this one can be resumed', async () => {
  const queue = await freshQueue(outer.types)
  const { executions } = queue.holdfast
  const { id } = await executions.start(outer, null)
  await eventually(
    async () => (await queue.sql(`select from holdfast.executions where workflow = 'inner' and status = 'failed'`)).length === 1,
  )
  await queue.sql(`update holdfast.executions set ended_at = ended_at - interval '90 days' where workflow = 'inner'`)
  const sweep = () => insideOf(queue.holdfast).store.partitions.sweep({ completedMs: 86_400_000, deadMs: 86_400_000 }, 1_000)
  await sweep()
  const [much] = await queue.sql(`select job_id from holdfast.tasks where name = 'much'`)
  await queue.holdfast.runNow(much?.job_id, { by: 'ada' })
  await expect(executions.wait(id)).rejects.toMatchObject({ code: 'execution_failed' })
  broken.now = false
  await executions.resume(id, { by: 'ada' })
  expect(await executions.wait(id)).toEqual({ sub: 'x', much: 1 })
  await queue.sql(`update holdfast.executions set ended_at = ended_at - interval '90 days'`)
  await sweep()
  await sweep()
  expect(await queue.sql('select from holdfast.executions')).toEqual([])
})
