import { defineType, defineWorkflow } from 'holdfast'
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
})
