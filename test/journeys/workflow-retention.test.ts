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
