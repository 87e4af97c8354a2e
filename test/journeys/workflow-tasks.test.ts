import { defineType, defineWorkflow } from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { type FreshQueue, freshQueue } from '../support/workflows.js'

/** What one task of an execution is, and what it runs with: its lane, its timeout, its retries, its limit. */
const ada = { by: 'ada', why: 'tested' }
const backoff = { base: 1, cap: 1, jitter: 0 }

const taskOf = async ({ holdfast }: FreshQueue, execution: string, name: string) =>
  (await holdfast.executions.get(execution))?.tasks.find((task) => task.name === name)
const jobOf = async (queue: FreshQueue, execution: string, name: string) =>
  (await taskOf(queue, execution, name))?.jobId as string

test('an execution and its tasks are rows with input, output and timing', async () => {
  const given = defineType({ type: 'given', run() {} })
  const workflow = defineWorkflow({
    name: 'rows',
    tasks(task) {
      const plain = task('plain', { run: () => 'ran' })
      const own = task('own', { type: given, payload: { own: true } })
      const each = task('each', { each: '$.input.items[*]', run: (item: string) => `for ${item}` })
      task('never', { after: [plain, own, each], if: '$.plain == "other"', run: () => 1 })
      return plain
    },
  })
  const queue = await freshQueue([...workflow.types, given])
  const input = { items: ['a', 'b'] }
  const { id } = await queue.holdfast.start(workflow, input)
  await queue.holdfast.executions.wait(id)
  const execution = `select e.workflow, e.status, e.input, e.ended_at >= e.created_at as timed, holdfast.execution_output(e.id) as output
                     from holdfast.executions as e where e.id = $1`
  expect(await queue.sql(execution, [id])).toEqual([{ workflow: 'rows', status: 'completed', input, timed: true, output: 'ran' }])
  const rows = (given = id) =>
    queue.sql(
      `select workflow, task, item, status, input, result, ended_at >= started_at as timed, (select j.id = t.job_id from holdfast.jobs as j where j.id = t.job_id) as job
       from holdfast.execution_tasks as t where execution_id = $1 order by task, item nulls first`,
      [given],
    )
  const common = { workflow: 'rows', status: 'completed', timed: true }
  expect(await rows()).toEqual([
    { ...common, task: 'each', item: null, input, result: null, job: null },
    { ...common, task: 'each', item: 0, input: 'a', result: 'for a', job: true },
    { ...common, task: 'each', item: 1, input: 'b', result: 'for b', job: true },
    { ...common, task: 'never', item: null, status: 'skipped', input, result: null, timed: null, job: null },
    { ...common, task: 'own', item: null, input: { own: true }, result: null, job: true },
    { ...common, task: 'plain', item: null, input, result: 'ran', job: true },
  ])
  const [first] = await queue.sql(`select job_id from holdfast.execution_tasks where execution_id = $1 and item = 0`, [id])
  await queue.holdfast.forget(first?.job_id, ada)
  expect((await rows())[1]).toMatchObject({ item: 0, input: null, result: null, job: null })
})

test('what is encrypted stays so in the rows', async () => {
  const workflow = defineWorkflow({ name: 'secret', tasks: (task) => task('only', { encrypt: true, run: () => 'a secret' }) })
  const encryption = { current: 'k1', keys: { k1: Buffer.alloc(32, 7).toString('base64') } }
  const queue = await freshQueue(workflow.types, { encryption })
  const { id } = await queue.holdfast.start(workflow, { a: 'secret' })
  await queue.holdfast.executions.wait(id)
  const [row] = await queue.sql('select input::text, result::text from holdfast.execution_tasks where execution_id = $1', [id])
  expect([row?.input, row?.result]).toEqual([expect.stringContaining('$enc'), expect.stringContaining('$enc')])
})

test('a first task whose job is refused keeps no other first task from its start', async () => {
  const picky = defineType({ type: 'picky', run: () => 'taken' })
  const workflow = defineWorkflow({
    name: 'beginnings',
    onFailure: 'continue',
    tasks: (task) => ({
      good: task('good', { run: () => 'done' }),
      refused: task('refused', { type: picky, payload: 'refused' }),
    }),
  })
  const queue = await freshQueue([...workflow.types, picky])
  await queue.sql(`create function no_room() returns trigger language plpgsql as $$ begin raise 'no room'; end $$`)
  await queue.sql(`create trigger no_room before insert on holdfast.bodies for each row
                   when (new.payload::text = '"refused"') execute function no_room()`)
  const started = await queue.holdfast.start(workflow, null)
  await expect(queue.holdfast.executions.wait(started)).rejects.toThrow(
    'refused is dead: TaskError: the task could not be started: no room',
  )
  await queue.sql('drop trigger no_room on holdfast.bodies')
  expect(await taskOf(queue, started.id, 'good')).toMatchObject({ status: 'completed' })
  expect(await queue.holdfast.executions.resume(started.id, ada)).toMatchObject({ done: true })
  expect(await queue.holdfast.executions.wait(started)).toEqual({ good: 'done', refused: 'taken' })
})

describe('a task', () => {
  test('runs in its lane: a drained one holds it back, and no other', async () => {
    const workflow = defineWorkflow({
      name: 'lanes',
      tasks(task) {
        const quick = task('quick', { run: () => 'quick' })
        const drawn = task('drawn', { lane: 'drawing', run: () => 'drawn' })
        return { quick, drawn }
      },
    })
    const queue = await freshQueue()
    await queue.holdfast.flow.setLane('drawing', { enabled: false }, ada, { create: true })
    await queue.work(workflow.types)
    const { id } = await queue.holdfast.start(workflow, {})
    await eventually(async () => (await taskOf(queue, id, 'quick'))?.status === 'completed')
    const job = await jobOf(queue, id, 'drawn')
    expect(await queue.holdfast.job(job)).toMatchObject({ lane: 'drawing', status: 'pending', attempts: [] })
    expect((await queue.holdfast.explain(job))?.gates).toMatchObject([{ gate: 'lane_drained' }])
    await queue.holdfast.flow.setLane('drawing', { enabled: true }, ada)
    expect(await queue.holdfast.executions.wait(id)).toEqual({ quick: 'quick', drawn: 'drawn' })
  })

  test('times out, is tried again as often as it says, and its error stands with it', async () => {
    const tries: number[] = []
    const workflow = defineWorkflow({
      name: 'times',
      tasks(task) {
        const slow = task('slow', {
          ...{ timeout: 50, maxAttempts: 2, backoff },
          run: (_, { signal, job }) => {
            tries.push(job.attempt)
            return new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
          },
        })
        const told = task('told', { after: [slow], when: 'failed', run: () => 'told' })
        return { slow, told }
      },
    })
    const queue = await freshQueue(workflow.types)
    const { id } = await queue.holdfast.start(workflow, {})
    await eventually(async () => (await queue.holdfast.executions.get(id))?.status === 'failed')
    expect(tries).toEqual([1, 2])
    const error = { name: 'TimeoutError', message: expect.stringContaining('50 ms') }
    expect(await taskOf(queue, id, 'slow')).toMatchObject({ status: 'dead', error })
    expect(await queue.holdfast.job(await jobOf(queue, id, 'slow'))).toMatchObject({
      status: 'dead',
      attempts: [{ outcome: 'timed_out' }, { outcome: 'timed_out' }],
    })
    expect(await taskOf(queue, id, 'told')).toMatchObject({ status: 'completed', result: 'told' })
  })

  test('is held back by its limit, whichever execution it is of', async () => {
    let [now, most] = [0, 0]
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    onTestFinished(() => letGo())
    const workflow = defineWorkflow({
      name: 'limits',
      tasks: (task) =>
        task('limited', {
          limits: { maxRunning: 1 },
          run: async () => {
            most = Math.max(most, ++now)
            await held
            now -= 1
            return 'went'
          },
        }),
    })
    const queue = await freshQueue(workflow.types)
    const started = await Promise.all([1, 2, 3].map(() => queue.holdfast.start(workflow, {})))
    const jobs = await Promise.all(started.map(({ id }) => jobOf(queue, id, 'limited')))
    const statuses = () => Promise.all(jobs.map(async (job) => (await queue.holdfast.job(job))?.status))
    await eventually(async () => (await statuses()).includes('processing'))
    expect((await statuses()).toSorted()).toEqual(['pending', 'pending', 'processing'])
    const waiting = jobs[(await statuses()).indexOf('pending')] as string
    expect((await queue.holdfast.explain(waiting))?.gates).toMatchObject([{ gate: 'concurrency' }])
    letGo()
    expect(await Promise.all(started.map((one) => queue.holdfast.executions.wait(one)))).toEqual(Array(3).fill('went'))
    expect(most).toBe(1)
  })
})
