import { defineType, defineWorkflow } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { sized } from '../support/sized.js'

const work = defineType({ type: 'work' })
const often = { type: work, maxAttempts: 20, payload: { ms: 20 } } as const

const inner = defineWorkflow({
  name: 'inner',
  tasks(task) {
    const one = task('one', { ...often })
    task('two', { ...often, after: [one] })
  },
})
/** Two chains, a fan-out, a sub-workflow and two conditions in the middle, and a join. */
const shaped = defineWorkflow({
  name: 'shaped',
  tasks(task) {
    const a = task('a', { ...often, payload: { ms: 20, returns: { n: 2 } } })
    const b = task('b', { ...often, after: [a] })
    const items = task('items', { type: work, maxAttempts: 20, after: [a], each: '$.input[*]' })
    const sub = task('sub', { workflow: inner, after: [a] })
    const met = task('met', { ...often, after: [a], if: '$.a.n == 2' })
    const unmet = task('unmet', { ...often, after: [a], if: '$.a.n == 3' })
    const c = task('c', { ...often, after: [b] })
    task('join', { ...often, after: [c, items, sub, met, unmet] })
  },
})
/** One task fails for good: what needs it is skipped, and what waits for its failure runs. */
const failing = defineWorkflow({
  name: 'failing',
  onFailure: 'continue',
  tasks(task) {
    const a = task('a', { ...often })
    const bad = task('bad', { ...often, payload: { fatal: 'no retry can help' }, after: [a] })
    task('never', { ...often, after: [bad] })
    task('instead', { ...often, after: [bad], when: 'failed' })
  },
})
const [good, bad] = [9, 5]
const kills = sized({ sample: 2, whole: 20 })
const items = [{ ms: 10 }, { ms: 20 }, { ms: 30 }]
/** Of each execution, with those of its sub-workflow; one of the three of `failing` is dead. */
const jobsOf = { shaped: 5 + items.length + 2, failing: 3 }

test('workers killed in the middle of executions lose no task and make none twice: each execution ends as its graph says, each job ran to one end', async () => {
  const queue = await makeQueue()
  const worker = () => queue.worker({ lease: '1s', unsafe: true, poll: '100ms', concurrency: 4 })
  let alive = await Promise.all([worker(), worker()])
  for (let n = 0; n < good; n++) await queue.holdfast.start(shaped, items)
  for (let n = 0; n < bad; n++) await queue.holdfast.start(failing, {})
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
  const ends = `select workflow, status, count(*)::int as n from holdfast.executions group by workflow, status order by workflow`
  expect(await queue.sql(ends)).toEqual([
    { workflow: 'failing', status: 'failed', n: bad },
    { workflow: 'inner', status: 'completed', n: good },
    { workflow: 'shaped', status: 'completed', n: good },
  ])
  const skipped = `select name, count(*)::int as n from holdfast.tasks where status = 'skipped' group by name order by name`
  expect(await queue.sql(skipped)).toEqual([
    { name: 'never', n: bad },
    { name: 'unmet', n: good },
  ])
  const [counted] = await queue.sql(`
    select count(distinct t.job_id)::int as jobs, (select count(*)::int from holdfast.bodies) as bodies,
           (select count(*)::int from holdfast.history where outcome = 'completed') as completed,
           (select count(*)::int from holdfast.dead_letters) as dead
    from holdfast.tasks as t where t.status <> 'skipped' and t.sub_workflow is null and t.job_id is not null`)
  const jobs = good * jobsOf.shaped + bad * jobsOf.failing
  expect(counted).toEqual({ jobs, bodies: jobs, completed: jobs - bad, dead: bad })
  // No child began before its parents had ended.
  const early = await queue.sql(`
    select from holdfast.tasks as t join lateral unnest(t.parents) as u (name) on true
    join holdfast.tasks as p on p.execution_id = t.execution_id and p.name = u.name and p.item = -1 where t.started_at < p.ended_at`)
  expect(early).toEqual([])
  expect(await queue.sql('select from holdfast.open_groups union all select from holdfast.group_changes')).toEqual([])
}, 300_000)
