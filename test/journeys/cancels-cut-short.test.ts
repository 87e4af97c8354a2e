import { tmpdir } from 'node:os'
import { defineType, defineWorkflow } from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { Program } from '../support/holdfast-program.js'
import { type FreshQueue, freshQueue } from '../support/workflows.js'

/** Whoever cancels many jobs at once passes over those that somebody is at. What if they are killed before they come back to these? */
const who = { by: 'ada', why: 'not wanted' }
const later = defineType({ type: 'later' })
const inner = defineWorkflow({
  name: 'inner',
  tasks(task) {
    for (const name of ['a', 'b']) task(name, { type: later, delay: '1h' })
  },
})
const outer = defineWorkflow({ name: 'outer', tasks: (task) => task('sub', { workflow: inner }) })

const statuses = async ({ sql }: FreshQueue) =>
  (await sql('select j.status from holdfast.jobs as j order by j.id')).map(({ status }) => status)
const tick = ({ sql }: FreshQueue) => sql(`select * from holdfast.tick(100, '-infinity', 2000)`)

/** Holds the job that was enqueued first, as a handler does whose transaction completes it. */
async function holdFirst(queue: FreshQueue): Promise<() => Promise<unknown>> {
  const other = await queue.connect()
  await other.query('begin')
  await other.query(
    'select from holdfast.waiting where job_id = (select min(job_id::text)::uuid from holdfast.waiting) for update',
  )
  return () => other.query('rollback')
}

/** Cancels at the command line, which is killed as soon as it has cancelled all but the job that is held. */
async function killedWhileCancelling(queue: FreshQueue, command: string, id: string): Promise<void> {
  const env = { DATABASE_URL: queue.url }
  const program = new Program(tmpdir(), [command, 'cancel', id, '--yes', '--by', who.by, '--why', who.why], { env })
  onTestFinished(async () => void (await program.end('SIGKILL')))
  await eventually(async () => (await statuses(queue)).includes('cancelled'), { within: 60_000 })
  expect(await program.end('SIGKILL'), program.complaints).toBe('SIGKILL')
  // What it asked for last would be done for it all the same as soon as the job is free.
  await queue.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
}

describe.each([
  ['an execution', 'workflows', (queue: FreshQueue) => queue.holdfast.start(inner, null)],
  ['an execution with a sub-workflow', 'workflows', (queue: FreshQueue) => queue.holdfast.start(outer, null)],
  [
    'a batch',
    'batches',
    ({ holdfast }: FreshQueue) => holdfast.batch({ jobs: [1, 2].map((n) => later.job(n, { delay: '1h' })) }),
  ],
])('%s that is being cancelled', (_, command, begin) => {
  test('is cancelled to the end by ticks where who cancelled it is killed, and ticks wait for no job that somebody holds', async () => {
    const queue = await freshQueue()
    await queue.holdfast.registerTypes([later])
    const { id } = await begin(queue)
    const release = await holdFirst(queue)
    await killedWhileCancelling(queue, command, id)
    const [{ duties } = { duties: null }] = await tick(queue)
    expect(duties).toMatchObject([{ duty: 'groups', failed: [] }])
    expect(await tick(queue)).toMatchObject([{ duties: [{ duty: 'groups', failed: [] }] }])
    expect(await statuses(queue)).toEqual(['scheduled', 'cancelled'])
    await release()
    await eventually(async () => {
      await tick(queue)
      return (await statuses(queue)).every((status) => status === 'cancelled')
    })
    const [first] = await queue.sql('select j.id from holdfast.jobs as j order by j.id limit 1')
    expect(await queue.holdfast.job(first?.id)).toMatchObject({
      attempts: [{ error: { message: 'cancelled by ada: not wanted' } }],
    })
    await tick(queue)
    expect(await queue.sql('select from holdfast.open_groups union all select from holdfast.group_changes')).toEqual([])
    expect(await queue.sql('select holdfast.groups_to_advance() as left')).toEqual([{ left: [] }])
  })
})

test('an execution that was cancelled but for one job is cancelled to the end by the next who cancels it', async () => {
  const queue = await freshQueue()
  await queue.holdfast.registerTypes([later])
  const { id } = await queue.holdfast.start(inner, null)
  const release = await holdFirst(queue)
  await queue.sql(`select * from holdfast.cancel_execution($1, null, holdfast.actor('ada', 'not wanted'))`, [id])
  await release()
  expect(await statuses(queue)).toEqual(['scheduled', 'cancelled'])
  expect(await queue.holdfast.executions.cancel(id, who)).toMatchObject({ done: false, was: 'cancelled' })
  expect(await statuses(queue)).toEqual(['cancelled', 'cancelled'])
})
