/** The examples of docs/how-to, as they stand. */
import { defineDependency, defineType, type JobType } from 'holdfast'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const examples = (page: string) => blocks(docsPage(`how-to/${page}.md`), 'js')
const completed = async ({ holdfast }: Awaited<ReturnType<typeof makeQueue>>, type: string) =>
  (await holdfast.jobs({ type, status: 'completed' })).jobs.length

test('an order and its mail are there both or neither, by the library and by a trigger', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const sendEmail = defineType({ type: 'send_email', run() {} })
  await queue.sql('create table orders (id serial primary key, customer text not null unique)')
  const [program = ''] = examples('transactional-enqueue')
  const placeOrder = await runExample(`${program}\nreturn placeOrder`, { holdfast, sendEmail })
  const pool = new pg.Pool({ connectionString: queue.url })
  onTestFinished(() => pool.end())
  const payloads = async () => (await holdfast.jobs({ type: 'send_email' })).jobs.map(({ payload }) => payload)
  const id = await placeOrder(pool, 'ada@example.com')
  expect((await holdfast.job(id))?.payload).toEqual({ to: 'ada@example.com', order: 1 })
  await expect(placeOrder(pool, 'ada@example.com')).rejects.toThrow(/unique/)
  expect(await payloads()).toHaveLength(1)

  const [trigger = ''] = blocks(docsPage('how-to/transactional-enqueue.md'), 'sql')
  await queue.sql(trigger)
  await queue.sql("begin; insert into orders (customer) values ('bob@example.com'); rollback")
  await queue.sql("insert into orders (customer) values ('eve@example.com')")
  expect((await payloads()).map((payload) => (payload as { to: string }).to).sort()).toEqual([
    'ada@example.com',
    'eve@example.com',
  ])
})

test('each tenant has limits of its own, which an operator changes at run time', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const [definition = '', operated = ''] = examples('tenant-limits')
  const type = await runExample(`${definition}\nreturn renderInvoice`, { defineType, holdfast })
  await runExample(operated, { holdfast })
  const held = await holdfast.enqueue(type, { number: 8 }, { concurrencyKey: 'globex' })
  await startHere(queue, [type])
  await eventually(async () => (await completed(queue, 'render_invoice')) === 1)
  expect((await holdfast.explain(held.id))?.gates[0]?.why).toContain('paused by ada (sends the same invoice again and again)')
  const gate = (await holdfast.flow.gates()).find(({ type: of }) => of === 'render_invoice')
  expect(gate).toMatchObject({ maxRunning: 20, maxRunningPerKey: 2, fair: true, ratePerKey: { count: 100 } })
})

test('the word of a partner counts: too many requests rest the type and spend no attempt', async () => {
  const queue = await makeQueue()
  const answers = [{ status: 429, retryAfter: '50ms' }, { status: 503 }, { status: 200, reference: 'r1' }]
  const keys: string[] = []
  const callPartner = async (_path: string, { key }: { key: string }) => {
    keys.push(key)
    return answers.shift()
  }
  const [definition = ''] = examples('rate-limited-apis')
  const type = await runExample(`${definition.replace("base: '5s'", 'base: 1, jitter: 0')}\nreturn pushOrder`, {
    ...{ defineType, defineDependency, callPartner },
  })
  await startHere(queue, [type])
  const { id } = await queue.holdfast.enqueue(type, { order: 7 })
  expect(await queue.holdfast.wait(id)).toEqual({ order: 7, reference: 'r1' })
  expect(keys).toEqual([id, id, id])
  expect((await queue.holdfast.job(id))?.attempts.map(({ outcome }) => outcome)).toEqual(['snoozed', 'failed', 'completed'])
  expect((await queue.holdfast.flow.dependencies()).map(({ name }) => name)).toEqual(['partner'])
})

test('a long job goes on behind its last checkpoint, and tells how far it is', async () => {
  const queue = await makeQueue()
  const seen: string[] = []
  let dies = true
  const projectOne = async (name: string) => {
    if (name === 'c' && dies) throw new Error('the power went')
    seen.push(name)
  }
  const [definition = ''] = examples('long-jobs')
  const type: JobType = await runExample(`${definition}\nreturn project`, { defineType, projectOne })
  await startHere(queue, [type])
  const { id } = await queue.holdfast.enqueue(type, { documents: ['a', 'b', 'c', 'd'] })
  await eventually(async () => (await queue.holdfast.job(id))?.status === 'failed')
  dies = false
  await queue.holdfast.runNow(id, { by: 'ada' })
  expect(await queue.holdfast.wait(id)).toEqual({ projected: 4 })
  expect(seen).toEqual(['a', 'b', 'c', 'd'])
})

test('an import is paced, and a program that is started again enqueues what is missing', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const stored: unknown[] = []
  const readRows = () => Array.from({ length: 1_500 }, (_, id) => ({ id }))
  async function* inPortions(rows: readonly unknown[], size: number) {
    for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
  }
  const given = { defineType, holdfast, readRows, inPortions, store: (row: unknown) => stored.push(row) }
  const [program = ''] = examples('imports')
  const type = await runExample(`${program}\nreturn importRow`, given)
  await runExample(program, given)
  expect(await queue.sql('select count(*)::int as stored from holdfast.bodies')).toEqual([{ stored: 1_500 }])
  await startHere(queue, [type])
  await eventually(() => stored.length > 0)
  expect(type.priority).toBe(1)
})
