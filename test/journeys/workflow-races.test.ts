import { defineWorkflow, FatalError, HoldfastError } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { blockedOrDone } from '../support/blocked.js'
import { eventually } from '../support/facts.js'
import { type FreshQueue, freshQueue } from '../support/workflows.js'

const who = { by: 'grace', why: 'a test' }
const tasksOf = async ({ holdfast }: FreshQueue, id: string) => (await holdfast.executions.get(id))?.tasks ?? []
const jobOf = async (queue: FreshQueue, id: string, name: string) =>
  (await tasksOf(queue, id)).find((task) => task.name === name)?.jobId as string
const statuses = async (queue: FreshQueue, id: string) =>
  Object.fromEntries((await tasksOf(queue, id)).map(({ name, status }) => [name, status]))

/** Something that waits until a test lets it go. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open: () => open(), opened }
}

test('a task that was cancelled with its execution goes on behind its finished steps; one that had not begun is made again', async () => {
  const ran: string[] = []
  const pay = defineWorkflow({
    name: 'pay',
    tasks(task) {
      const charge = task('charge', {
        run: async (_, { step, waitFor }) => {
          await step('card', () => void ran.push('card'))
          return (await waitFor<string>('approved')) ?? 'nobody'
        },
      })
      const later = task('later', { delay: '1h', run: () => 'later' })
      return task('last', { after: [charge, later], run: async (_, { parents }) => (await parents()).charge })
    },
  })
  const queue = await freshQueue(pay.types)
  const { executions } = queue.holdfast
  const { id } = await queue.holdfast.start(pay, null)
  const charge = await jobOf(queue, id, 'charge')
  await eventually(async () => (await queue.holdfast.job(charge))?.status === 'blocked')
  const later = await jobOf(queue, id, 'later')
  await executions.cancel(id, who)
  await eventually(async () => (await statuses(queue, id)).charge === 'cancelled')
  expect(await executions.resume(id, who)).toMatchObject({ done: true, was: 'cancelled', status: 'running' })
  expect(await jobOf(queue, id, 'charge')).toBe(charge)
  expect(await jobOf(queue, id, 'later')).not.toBe(later)
  await queue.holdfast.signal(charge, 'approved', 'ada')
  await queue.holdfast.runNow(await jobOf(queue, id, 'later'), who)
  expect(await executions.wait(id)).toBe('ada')
  expect(ran).toEqual(['card'])
})

test('an execution is not resumed while a handler of its sub-workflow is still stopping, and the answer says so', async () => {
  const [begun, stopped] = [gate(), gate()]
  const inner = defineWorkflow({
    name: 'inner',
    tasks: (task) =>
      task('slow', {
        run: async () => {
          begun.open()
          await stopped.opened
        },
      }),
  })
  const outer = defineWorkflow({ name: 'outer', tasks: (task) => task('all', { workflow: inner }) })
  const queue = await freshQueue(outer.types)
  const { executions } = queue.holdfast
  const { id } = await queue.holdfast.start(outer, null)
  await begun.opened
  const sub = await jobOf(queue, id, 'all')
  expect(await queue.holdfast.explain(sub)).toMatchObject({
    ...{ status: 'processing', gates: [{ gate: 'running', why: expect.stringMatching(/and runs as an execution of inner$/) }] },
  })
  await executions.cancel(id, who)
  const stopping = { done: false, status: 'cancelled', because: 'handlers of it are still stopping; try again in a moment' }
  expect(await executions.resume(id, who)).toMatchObject(stopping)
  stopped.open()
  await eventually(async () => (await executions.resume(id, who)).done)
  await executions.wait(id)
  expect(await statuses(queue, id)).toEqual({ all: 'completed' })
})

test('what waits for the failure of a task does not start while a resumed execution tries that task again', async () => {
  const ran: string[] = []
  let broken = true
  const [begun, go] = [gate(), gate()]
  const order = defineWorkflow({
    name: 'order',
    tasks(task) {
      const charge = task('charge', {
        run: async () => {
          begun.open()
          await go.opened
          if (broken) throw new FatalError('declined')
        },
      })
      task('beside', { delay: '1h', run: () => 1 })
      task('refund', { after: [charge], when: 'failed', run: () => void ran.push('refund') })
    },
  })
  const queue = await freshQueue(order.types)
  const { id } = await queue.holdfast.start(order, null)
  await begun.opened
  // The cancel passes over the job, because somebody is at it in this moment; then its attempt fails for good.
  const other = await queue.connect()
  await other.query('begin')
  await other.query('select from holdfast.queue where job_id = $1 for update', [await jobOf(queue, id, 'charge')])
  await queue.sql(`select * from holdfast.cancel_execution($1, null, holdfast.actor('ada', 'no'))`, [id])
  go.open()
  // Its settle is the first in line: the ticks that would cancel it pass over a row that somebody waits for.
  await blockedOrDone(await queue.connect(), new Promise(() => {}))
  await other.query('rollback')
  await eventually(async () => (await statuses(queue, id)).charge === 'dead')
  expect(await statuses(queue, id)).toEqual({ charge: 'dead', beside: 'cancelled', refund: 'skipped' })
  broken = false
  await queue.holdfast.executions.resume(id, who)
  await queue.holdfast.runNow(await jobOf(queue, id, 'beside'), who)
  await queue.holdfast.executions.wait(id)
  expect(await statuses(queue, id)).toEqual({ charge: 'completed', beside: 'completed', refund: 'skipped' })
  expect(ran).toEqual([])
})

test('an execution that somebody is just resuming is not repeated beside it', async () => {
  const one = defineWorkflow({
    name: 'one',
    tasks: (task) =>
      task('only', {
        run: () => {
          throw new FatalError('broken')
        },
      }),
  })
  const queue = await freshQueue(one.types)
  const { executions } = queue.holdfast
  const { id } = await queue.holdfast.start(one, null)
  await expect(executions.wait(id)).rejects.toMatchObject({ code: 'execution_failed' })
  const other = await queue.connect()
  await other.query('begin')
  await other.query(`select * from holdfast.resume_execution($1, null, holdfast.actor('ada', null), '{}')`, [id])
  const again = executions.rerun(id, 'only', who).catch((error) => error)
  await blockedOrDone(await queue.connect(), again)
  await other.query('commit')
  expect(await again).toMatchObject({ code: 'conflict', message: `execution ${id} is running; cancel it first` })
  expect((await executions.list({ workflow: 'one' })).executions).toHaveLength(1)
})

describe('an execution whose handler is still stopping', () => {
  const slow = () => {
    const [begun, stopped] = [gate(), gate()]
    const running = { now: 0, most: 0 }
    const one = defineWorkflow({
      name: 'one',
      tasks: (task) =>
        task('only', {
          run: async () => {
            running.most = Math.max(running.most, ++running.now)
            begun.open()
            await stopped.opened
            running.now--
          },
        }),
    })
    return { begun, stopped, running, one }
  }

  test('is not repeated beside it, and the answer says so; once it has stopped, it is', async () => {
    const { begun, stopped, running, one } = slow()
    const queue = await freshQueue(one.types)
    const { executions } = queue.holdfast
    const { id } = await queue.holdfast.start(one, null)
    await begun.opened
    await executions.cancel(id, who)
    const refused = await executions.rerun(id, 'only', who).catch((error) => error)
    stopped.open()
    expect(refused).toMatchObject({
      code: 'conflict',
      message: `handlers of execution ${id} are still stopping; try again in a moment`,
    })
    const again = await eventually(() => executions.rerun(id, 'only', who))
    await executions.wait(again)
    expect(running).toEqual({ now: 0, most: 1 })
  })

  test('is repeated as soon as it has stopped, whoever else has heard of that', async () => {
    const { begun, stopped, one } = slow()
    const queue = await freshQueue(one.types)
    const { executions } = queue.holdfast
    const { id } = await queue.holdfast.start(one, null)
    await begun.opened
    await executions.cancel(id, who)
    await queue.sql(
      `create or replace function holdfast.advance_groups(p_groups uuid[]) returns integer language sql as 'select 0'`,
    )
    stopped.open()
    await eventually(async () => (await queue.sql('select from holdfast.group_changes')).length === 1)
    expect((await executions.rerun(id, 'only', who)).status).toBe('created')
    expect(await statuses(queue, id)).toEqual({ only: 'cancelled' })
  })
})

test('whatever is done to executions and their jobs at once, each can be brought to its end, and no job of them completed twice', async () => {
  let failing = true
  const flaky = (result: unknown) => () => {
    if (failing && Math.random() < 0.3) throw new FatalError('broken')
    return result
  }
  const inner = defineWorkflow({ name: 'inner', tasks: (task) => task('x', { run: flaky('x') }) })
  const outer = defineWorkflow({
    name: 'outer',
    input: z.object({ list: z.array(z.number()) }),
    tasks(task) {
      const a = task('a', { run: flaky('a') })
      const sub = task('sub', { workflow: inner, payload: {}, after: [a] })
      const items = task('items', { after: [a], each: '$.input.list[*]', run: flaky('item') })
      task('undo', { after: [items, sub], when: 'failed', run: flaky('undone') })
      return task('last', { after: [a, sub, items], run: flaky('last') })
    },
  })
  const queue = await freshQueue(outer.types)
  await queue.work(outer.types)
  const { holdfast } = queue
  const ids = await Promise.all(Array.from({ length: 6 }, async () => (await holdfast.start(outer, { list: [1, 2, 3] })).id))
  const any = () => ids[Math.floor(Math.random() * ids.length)] as string
  const oneOf = async (...wanted: string[]): Promise<string | undefined> =>
    (
      await queue.sql(
        `select m.job_id from holdfast.members as m where holdfast.status_of(m.job_id) = any ($1) order by random() limit 1`,
        [wanted],
      )
    )[0]?.job_id
  const withOne = (statuses: string[], act: (job: string) => Promise<unknown>) => async () => {
    const job = await oneOf(...statuses)
    if (job) await act(job).catch(unlessRefused)
  }
  const actors: (() => Promise<unknown>)[] = [
    () => holdfast.executions.cancel(any(), who),
    () => holdfast.executions.resume(any(), who).catch(unlessRefused),
    () => holdfast.executions.resume(any(), who).catch(unlessRefused),
    async () => void ids.push((await holdfast.executions.rerun(any(), 'items', who)).id),
    withOne(['pending', 'processing'], (job) => holdfast.cancel(job, who)),
    withOne(['cancelled'], (job) => holdfast.resume(job, who)),
    withOne(['dead'], (job) => holdfast.deadLetters.replay(job, who)),
    withOne(['dead'], (job) => holdfast.deadLetters.discard(job, who)),
    () => queue.sql("select * from holdfast.tick(100, '-infinity')"),
  ]
  await Promise.all(
    actors.map(async (act) => {
      for (let turn = 0; turn < 10; turn++) await act().catch(unlessRefused)
    }),
  )
  failing = false
  await eventually(
    async () => {
      const { executions } = await holdfast.executions.list({ workflow: 'outer' }, { limit: 100 })
      const left = executions.filter(({ status }) => status !== 'completed')
      for (const { id, status } of left) if (status !== 'running') await holdfast.executions.resume(id, who).catch(unlessRefused)
      return left.length === 0
    },
    { within: 60_000 },
  )
  await eventually(async () => (await queue.sql('select from holdfast.group_changes')).length === 0)
  const wrong = await queue.sql(`
    select 'execution' as what, e.id, e.status from holdfast.executions as e where e.status <> 'completed' or e.started <> 0
    union all select 'task ' || t.name, t.execution_id, t.status from holdfast.tasks as t where t.status not in ('completed', 'skipped')
    union all select 'job of ' || t.name, t.job_id, holdfast.status_of(t.job_id) from holdfast.tasks as t
              where t.status = 'completed' and t.type is not null and t.job_id is not null and holdfast.status_of(t.job_id) <> 'completed'
    union all select 'completed twice', h.job_id, '' from holdfast.history as h where h.outcome = 'completed' group by h.job_id having count(*) > 1
    union all select 'live', l.job_id, l.status from holdfast.live as l
    union all select 'open', g.group_id, '' from holdfast.open_groups as g`)
  expect(wrong).toEqual([])
}, 120_000)

/** What the state at that moment does not allow is no failure of anybody. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof HoldfastError) || !['conflict', 'not_found'].includes(error.code)) throw error
}
