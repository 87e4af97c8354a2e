import { defineType, defineWorkflow } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually } from '../support/facts.js'
import { freshQueue } from '../support/workflows.js'

describe('an encrypted workflow', () => {
  const card = defineType({ type: 'card', encrypt: true, run: (payload: unknown) => ({ seen: payload }) })
  const pay = defineWorkflow({
    name: 'pay',
    tasks: (task) =>
      task('tell', {
        encrypt: true,
        after: [task('card', { type: card })],
        run: async (_, { parents, execution }) => ({ parents: await parents(), input: (await execution()).input }),
      }),
  })

  test('keeps input, payloads and results secret from the database, and reads them for its handlers', async () => {
    const encryption = { current: 'k1', keys: { k1: Buffer.alloc(32, 7).toString('base64') } }
    const queue = await freshQueue([...pay.types, card], { encryption })
    const started = await queue.holdfast.start(pay, { number: '4111' })
    const output = { parents: { card: { seen: { number: '4111' } } }, input: { number: '4111' } }
    expect(await queue.holdfast.executions.wait(started)).toEqual(output)
    const [kept] = await queue.sql(`select (select string_agg(e.input::text, '') from holdfast.executions as e) as inputs,
      (select string_agg(concat(t.payload::text, t.result::text), '') from holdfast.tasks as t) as tasks`)
    expect(JSON.stringify(kept)).not.toContain('4111')
    expect(JSON.stringify(await queue.holdfast.executions.get(started.id))).not.toContain('4111')
  })
})

test('an execution goes on when the worker that ended a task died before it could advance it', async () => {
  const two = defineWorkflow({
    name: 'two',
    tasks: (task) => task('b', { after: [task('a', { run: () => 1 })], run: () => 2 }),
  })
  const queue = await freshQueue()
  const started = await queue.holdfast.start(two, null)
  // What a settle writes, without anybody who advances after it.
  await queue.sql(`delete from holdfast.queue; insert into holdfast.group_changes (group_id, job_id, was, became, jobs)
    select execution_id, job_id, 'live', 'completed', 1 from holdfast.tasks where name = 'a'`)
  await queue.work(two.types)
  expect(await queue.holdfast.executions.wait(started)).toBe(2)
  await eventually(async () => (await queue.holdfast.executions.get(started.id))?.status === 'completed')
})

test('a worker registers the workflows of its file, so that they start by name; a task in a thread reads its parents as well', async () => {
  const own = await freshQueue()
  const start = () => own.holdfast.start('exported', { n: 20 })
  await expect(start()).rejects.toMatchObject({
    code: 'unknown_workflow',
    message: expect.stringMatching(/^no workflow "exported" is registered; give its definition to a worker, startWorker\(/),
  })
  await own.work(new URL('../support/workflow-handlers.mjs', import.meta.url))
  expect(await own.holdfast.executions.wait(await start())).toBe(42)
})

test('a worker is given a workflow beside its types, and registers it with its sub-workflows', async () => {
  const input = z.object({ n: z.number() })
  const inner = defineWorkflow({ name: 'inner', input, tasks: (task) => task('add', { run: ({ n }) => n + 1 }) })
  const outer = defineWorkflow({ name: 'outer', input, tasks: (task) => task('all', { workflow: inner }) })
  const own = await freshQueue()
  // Given twice, once by itself: it is the same handler.
  await own.work([outer, ...outer.types, defineType({ type: 'other', run: () => {} })])
  for (const name of ['outer', 'inner']) {
    expect(await own.holdfast.executions.wait(await own.holdfast.start(name, { n: 1 }))).toBe(2)
  }
})
