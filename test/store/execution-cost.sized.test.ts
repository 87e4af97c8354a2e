import { defineType, defineWorkflow } from 'holdfast'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { costOf } from '../support/plans.js'
import { sized } from '../support/sized.js'
import { freshQueue } from '../support/workflows.js'

/** What a task costs beside its job, and that a thousand of them side by side or one after the other are no trouble. */
const many = 1_000
const bare = defineType({ type: 'bare', run: () => 1 })

/** Ends the started tasks of an execution as a settle would, and leaves the rest to whoever advances. */
const endStarted = `insert into holdfast.group_changes (group_id, job_id, was, became, jobs)
  select execution_id, job_id, 'live', 'completed', 1 from holdfast.tasks where execution_id = $1 and status = 'started' and job_id is not null`

describe('a thousand tasks', () => {
  test('side by side run, and their join has all results', async () => {
    const wide = defineWorkflow({
      name: 'wide',
      tasks: (task) =>
        task('join', {
          after: Array.from({ length: many }, (_, n) => task(`t${n}`, { type: bare })),
          run: async (_, { parents }) => Object.values(await parents()).length,
        }),
    })
    const queue = await freshQueue([...wide.types, bare])
    expect(await queue.holdfast.executions.wait(await queue.holdfast.start(wide, null), { timeout: '90s' })).toBe(many)
  })

  test('for each item run, and are one list', async () => {
    const items = defineWorkflow({
      name: 'items',
      tasks: (task) =>
        task('join', {
          after: [task('all', { type: bare, each: '$.input[*]' })],
          run: async (_, { parents }) => (await parents()).all.length,
        }),
    })
    const queue = await freshQueue([...items.types, bare])
    const started = await queue.holdfast.start(
      items,
      Array.from({ length: many }, (_, n) => n),
    )
    expect(await queue.holdfast.executions.wait(started, { timeout: '90s' })).toBe(many)
  })

  test('one after the other run to the end', async () => {
    const depth = sized({ sample: 100, whole: many })
    const deep = defineWorkflow({
      name: 'deep',
      tasks(task) {
        let last: ReturnType<typeof task> | undefined
        for (let n = 0; n < depth; n++) last = task(`t${n}`, { type: bare, after: last ? [last] : [] }) as never
        return last
      },
    })
    const queue = await freshQueue([bare])
    expect(await queue.holdfast.executions.wait(await queue.holdfast.start(deep, null), { timeout: '90s' })).toBe(1)
  })
})

describe('a task', () => {
  const pairs = defineWorkflow({
    name: 'pairs',
    tasks(task) {
      for (let n = 0; n < many; n++) task(`b${n}`, { type: bare, after: [task(`a${n}`, { type: bare })] })
    },
  })

  test('costs its job and less than 600 bytes of WAL more once it starts, and a thousand are advanced in one statement within seconds', async () => {
    const queue = await freshQueue()
    await queue.holdfast.registerTypes([bare])
    const client = await queue.connect()
    const costs: number[] = []
    for (let round = 0; round < 3; round++) {
      const { id } = await queue.holdfast.start(pairs, null)
      await client.query(endStarted, [id])
      const { wal, pageImages } = await costOf(client, 'select holdfast.advance_execution($1)', [id])
      expect(
        await queue.sql(`select count(*)::int from holdfast.tasks where execution_id = $1 and status = 'started'`, [id]),
      ).toEqual([{ count: many }])
      // After a checkpoint whole pages go into the WAL; that is its cost and not the task's.
      costs.push((wal - pageImages * 8_192) / many)
    }
    // The job itself is 700 of it, as cost-per-job pins it. 200 are what a transaction that is open elsewhere in the cluster adds: rows that
    // it keeps from being pruned leave no room on their page, and the next version of each stands on another, with index entries of its own.
    expect(Math.min(...costs)).toBeLessThan(1_300)
  })

  test('that starts with its execution, or is an item, is stored as started: nothing of it is written again before it ends', async () => {
    const queue = await freshQueue()
    await queue.holdfast.registerTypes([bare])
    const client = await queue.connect()
    const beginnings = defineWorkflow({
      name: 'beginnings',
      tasks(task) {
        const both = [task('a', { type: bare }), task('b', { type: bare })]
        task('each', { type: bare, each: '$.input[*]' })
        task('later', { type: bare, after: both })
      },
    })
    await queue.holdfast.executions.register(beginnings)
    const [hash] = (await client.query('select hash from holdfast.workflows')).rows
    await client.query('begin')
    const before = await written(client)
    await client.query(`select holdfast.start_execution(holdfast.new_job_id(), 'beginnings', $1, '[1, 2, 3]')`, [hash.hash])
    const after = await written(client)
    await client.query('commit')
    const writes = Object.entries(after).map(([what, count]) => [what, count - (before[what] ?? 0)] as const)
    expect(Object.fromEntries(writes.filter(([, count]) => count !== 0))).toEqual({
      'executions inserted': 1,
      'open_groups inserted': 1,
      'tasks inserted': 7,
      'members inserted': 6,
      // The task that stands for its items, and that the execution has it.
      'tasks updated': 1,
      'executions updated': 1,
    })
    const started = `select name, item from holdfast.tasks where status = 'started' and started_at is not null order by name, item`
    expect((await client.query(started)).rows.map(({ name, item }) => `${name} ${item}`)).toEqual(
      ['a -1', 'b -1', 'each -1', 'each 0', 'each 1', 'each 2'], // biome-ignore format: one list
    )
    expect((await client.query('select started from holdfast.executions')).rows).toEqual([{ started: 3 }])
    expect((await client.query('select from holdfast.bodies')).rowCount).toBe(5)
  })

  test('of a chain is written three times from its start to its end, names its job once, and is news once; its execution is written by none of that', async () => {
    const queue = await freshQueue()
    await queue.holdfast.registerTypes([bare])
    const client = await queue.connect()
    const [short, long] = [chainOf(3), chainOf(13)]
    const of: { writes: Record<string, number>; wal: number }[] = []
    for (const chain of [short, long, short, long]) {
      await queue.holdfast.executions.register(chain)
      of.push(await wholeCost(client, chain.name, chain === long ? 13 : 3))
    }
    const [, , three, thirteen] = of as [never, never, (typeof of)[0], (typeof of)[0]]
    const each = Object.fromEntries(
      Object.entries(thirteen.writes).map(([what, count]) => [what, (count - (three.writes[what] ?? 0)) / 10]),
    )
    const once = { 'tasks inserted': 1, 'members inserted': 1, 'group_changes inserted': 1, 'group_changes deleted': 1 }
    expect(Object.fromEntries(Object.entries(each).filter(([, count]) => count !== 0))).toEqual({ ...once, 'tasks updated': 2 })
    // The job itself is 430 of it until it waits in the queue.
    expect((thirteen.wal - three.wal) / 10).toBeLessThan(1_600)
  })
})

function chainOf(length: number) {
  return defineWorkflow({
    name: `chain${length}`,
    tasks(task) {
      let last: ReturnType<typeof task> | undefined
      for (let n = 0; n < length; n++) last = task(`t${n}`, { type: bare, after: last ? [last] : [] }) as never
      return last
    },
  })
}

/** What the tables of an execution of a chain were written, and the WAL, from its start to its end. */
async function wholeCost(client: pg.Client, workflow: string, tasks: number) {
  await client.query('begin')
  const before = await written(client)
  let wal = 0
  const add = async (text: string, values: unknown[]) => {
    const cost = await costOf(client, text, values)
    wal += cost.wal - cost.pageImages * 8_192
  }
  const [{ id, hash }] = (
    await client.query('select holdfast.new_job_id() as id, w.hash from holdfast.workflows as w where w.name = $1', [workflow])
  ).rows
  await add(`select holdfast.start_execution($1, $2, $3, '{}')`, [id, workflow, hash])
  for (let n = 0; n < tasks; n++) {
    await add(endStarted, [id])
    await add('select holdfast.advance_execution($1)', [id])
  }
  const after = await written(client)
  expect((await client.query('select status from holdfast.executions where id = $1', [id])).rows).toEqual([
    { status: 'completed' },
  ])
  await client.query('commit')
  return { writes: Object.fromEntries(Object.entries(after).map(([what, count]) => [what, count - (before[what] ?? 0)])), wal }
}

/** How many rows of the tables of executions this session has inserted, updated and deleted, as far as it has not told the server yet. */
async function written(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query(
    `select w.what, w.count::integer from pg_stat_xact_user_tables as s
     cross join lateral (values (s.relname || ' inserted', n_tup_ins), (s.relname || ' updated', n_tup_upd), (s.relname || ' deleted', n_tup_del)) as w (what, count)
     where s.schemaname = 'holdfast' and s.relname = any ('{executions,group_changes,members,open_groups,tasks}')`,
  )
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]))
}
