import { defineType, defineWorkflow } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { sized } from '../support/sized.js'

const work = defineType({ type: 'work' })
const often = { type: work, maxAttempts: 20, payload: { ms: 20 } } as const

/** Two chains, a fan-out in the middle, and a join: every way a task can follow another. */
const shaped = defineWorkflow({
  name: 'shaped',
  tasks(task) {
    const a = task('a', { ...often })
    const b = task('b', { ...often, after: [a] })
    const items = task('items', { type: work, maxAttempts: 20, after: [a], each: '$.input[*]' })
    const c = task('c', { ...often, after: [b] })
    task('join', { ...often, after: [c, items] })
  },
})
const executions = 12
const kills = sized({ sample: 2, whole: 20 })
const items = [{ ms: 10 }, { ms: 20 }, { ms: 30 }]
const tasksOfEach = 4 + items.length

test('workers killed in the middle of executions lose no task and make none twice: each execution ends, each job ran to one end', async () => {
  const queue = await makeQueue()
  const worker = () => queue.worker({ lease: '1s', unsafe: true, poll: '100ms', concurrency: 4 })
  let alive = await Promise.all([worker(), worker()])
  for (let n = 0; n < executions; n++) await queue.holdfast.start(shaped, items)
  for (let kill = 0; kill < kills; kill++) {
    const before = await ended()
    // Another one dies whenever some tasks more have ended, so each is in the middle of something.
    await eventually(async () => (await ended()) > before + 3 || (await open()) === 0)
    const [victim, ...others] = alive
    await victim?.kill()
    alive = [...others, await worker()]
  }
  await eventually(async () => (await open()) === 0, { within: 60_000 })

  async function ended(): Promise<number> {
    return (await queue.sql(`select count(*)::int as n from holdfast.tasks where status = 'completed'`))[0]?.n
  }
  async function open(): Promise<number> {
    return (await queue.sql(`select count(*)::int as n from holdfast.executions where status = 'running'`))[0]?.n
  }
  expect(await queue.sql(`select status, count(*)::int as n from holdfast.executions group by status`)).toEqual([
    { status: 'completed', n: executions },
  ])
  const [{ jobs, bodies, completions } = { jobs: 0, bodies: 0, completions: 0 }] = await queue.sql(`
    select count(distinct t.job_id)::int as jobs, (select count(*)::int from holdfast.bodies) as bodies,
           (select count(*)::int from holdfast.history where outcome = 'completed') as completions
    from holdfast.tasks as t where t.job_id is not null`)
  expect({ jobs, bodies, completions }).toEqual({
    jobs: executions * tasksOfEach,
    bodies: executions * tasksOfEach,
    completions: executions * tasksOfEach,
  })
  // No child began before its parents had ended.
  const early = await queue.sql(`
    select from holdfast.tasks as t join lateral unnest(t.parents) as u (name) on true
    join holdfast.tasks as p on p.execution_id = t.execution_id and p.name = u.name and p.item = -1 where t.started_at < p.ended_at`)
  expect(early).toEqual([])
  expect(await queue.sql('select from holdfast.open_groups union all select from holdfast.group_changes')).toEqual([])
}, 180_000)
