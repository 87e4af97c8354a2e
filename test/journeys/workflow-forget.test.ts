import { defineWorkflow, FatalError } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { expect, test } from 'vitest'
import { blockedOrDone } from '../support/blocked.js'
import { eventually } from '../support/facts.js'
import { type FreshQueue, freshQueue } from '../support/workflows.js'

/** Results are copied into tasks, into executions that repeat others, and upwards from sub-workflows. Forgetting a job has to find all of them. */
const who = { by: 'grace', why: 'she asked us to' }
const secret = 'ada@example.org'

const inner = defineWorkflow({
  name: 'inner',
  tasks(task) {
    const address = task('address', { run: () => secret })
    const items = task('items', { each: '$.input[*]', run: (item: string) => `to ${item}` })
    const other = task('other', { after: [address, items], run: () => 'kept' })
    return { address, items, other }
  },
})
const middle = defineWorkflow({ name: 'middle', tasks: (task) => ({ of: task('sub', { workflow: inner }) }) })
const outer = defineWorkflow({
  name: 'outer',
  tasks: (task) => task('last', { after: [task('all', { workflow: middle })], run: () => 'done' }),
})

const jobOf = async ({ holdfast }: FreshQueue, execution: string, name: string) =>
  (await holdfast.executions.get(execution))?.tasks.find((task) => task.name === name)?.jobId as string

/** Everything that is kept of executions, as text. */
const kept = async ({ sql }: FreshQueue) =>
  JSON.stringify(await sql('select t.name, t.item, t.result, t.payload from holdfast.tasks as t'))

test('a job that is forgotten leaves nothing in executions that repeat its own, and nothing in those that its own is a task of', async () => {
  const queue = await freshQueue(outer.types)
  const { executions } = queue.holdfast
  const first = await queue.holdfast.start(outer, [secret, 'bob'])
  await executions.wait(first)
  const again = await executions.rerun(first.id, 'last', who)
  await executions.wait(again)
  const sub = await jobOf(queue, await jobOf(queue, first.id, 'all'), 'sub')
  const innerAgain = await executions.rerun(sub, 'other', who)
  await executions.wait(innerAgain)
  expect((await kept(queue)).split(secret).length).toBeGreaterThan(10)
  await queue.holdfast.forget(await jobOf(queue, sub, 'address'), who)
  const [item] = await queue.sql(`select job_id from holdfast.tasks where execution_id = $1 and name = 'items' and item = 0`, [
    sub,
  ])
  await queue.holdfast.forget(item?.job_id, who)
  expect(await kept(queue)).not.toContain(secret)
  // What other jobs said is where it was.
  for (const execution of [first.id, again.id]) {
    expect((await executions.get(execution))?.tasks.find((task) => task.name === 'all')?.result).toEqual({
      of: { address: null, items: [null, 'to bob'], other: 'kept' },
    })
  }
})

test('a result that is just being copied into its task is not written back after its job was forgotten', async () => {
  const one = defineWorkflow({ name: 'one', tasks: (task) => task('only', { run: () => secret }) })
  const queue = await freshQueue()
  await queue.holdfast.registerTypes(one.types)
  const { id } = await queue.holdfast.start(one, null)
  const [advance] = await queue.sql("select pg_get_functiondef('holdfast.advance_groups'::regproc) as of")
  await queue.sql(
    `create or replace function holdfast.advance_groups(p_groups uuid[]) returns integer language sql as 'select 0'`,
  )
  const worker = await queue.work(one.types)
  await eventually(async () => (await queue.sql(`select from holdfast.results`)).length === 1)
  await worker.stop()
  await queue.sql(advance?.of)
  const forgetting = await queue.connect()
  await forgetting.query('begin')
  await forgetting.query(`select holdfast.forget_job($1, holdfast.actor('grace'))`, [await jobOf(queue, id, 'only')])
  const folded = insideOf(queue.holdfast).store.groups.advance()
  await blockedOrDone(await queue.connect(), folded)
  await forgetting.query('commit')
  await folded
  await insideOf(queue.holdfast).store.groups.advance()
  expect(await queue.sql('select t.status, t.result from holdfast.tasks as t')).toEqual([{ status: 'completed', result: null }])
})

test('a job whose result an execution is just taking over is forgotten in that one, too', async () => {
  const two = defineWorkflow({
    name: 'two',
    tasks: (task) => task('b', { after: [task('a', { run: () => secret })], run: () => 1 }),
  })
  const queue = await freshQueue(two.types)
  const { id } = await queue.holdfast.start(two, null)
  await queue.holdfast.executions.wait(id)
  const other = await queue.connect()
  await other.query('begin')
  await other.query(
    `select holdfast.start_execution(holdfast.new_job_id(), 'two', (select hash from holdfast.workflows), 'null', p_rerun_of => $1, p_from => 'b')`,
    [id],
  )
  const forgotten = queue.holdfast.forget(await jobOf(queue, id, 'a'), who)
  await blockedOrDone(await queue.connect(), forgotten)
  await other.query('commit')
  await forgotten
  expect(await kept(queue)).not.toContain(secret)
})

test('a task whose dead job was replayed, completed and forgotten before its execution heard of any of it has completed', async () => {
  let broken = true
  const one = defineWorkflow({
    name: 'one',
    tasks: (task) =>
      task('only', {
        run: () => {
          if (broken) throw new FatalError('broken')
        },
      }),
  })
  const queue = await freshQueue(one.types)
  const { executions } = queue.holdfast
  const { id } = await queue.holdfast.start(one, null)
  await expect(executions.wait(id)).rejects.toMatchObject({ code: 'execution_failed' })
  const [advance] = await queue.sql("select pg_get_functiondef('holdfast.advance_groups'::regproc) as of")
  await queue.sql(
    `create or replace function holdfast.advance_groups(p_groups uuid[]) returns integer language sql as 'select 0'`,
  )
  broken = false
  const job = await jobOf(queue, id, 'only')
  await queue.holdfast.deadLetters.replay(job, who)
  await queue.holdfast.wait(job)
  await queue.holdfast.forget(job, who)
  await queue.sql(advance?.of)
  await eventually(async () => (await queue.sql('select from holdfast.group_changes')).length === 0)
  expect(await executions.get(id)).toMatchObject({ status: 'completed', tasks: [{ name: 'only', status: 'completed' }] })
})
