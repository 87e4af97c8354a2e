import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runJob, type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { makeLabel } from './label.ts'

let queue: ScratchQueue
let shop: typeof import('./jobs.ts') & typeof import('./place-order.ts') & typeof import('./database.ts')

before(async () => {
  queue = await scratchQueue()
  // The modules of the shop read it when they are imported, which is now.
  process.env.DATABASE_URL = queue.connectionString
  shop = { ...(await import('./jobs.ts')), ...(await import('./place-order.ts')), ...(await import('./database.ts')) }
  await shop.makeTables()
})
after(async () => {
  await shop.holdfast.close()
  await shop.pool.end()
  await queue.close()
})

const wanted = { tenant: 'acme', email: 'ada@example.com', cents: 500, card: 'good' }

test('an order that goes well is charged, labelled and shipped, and its mail is sent', async () => {
  const { id, execution } = await shop.placeOrder(wanted)
  await queue.drain([shop.order, makeLabel, shop.sendMail], { throughTime: true, allMustEnd: true })
  const { status, output } = (await queue.holdfast.executions.get(execution)) ?? {}
  assert.deepEqual([status, output], ['completed', { parcel: `acme #${id}`, receipt: `paid 500 for order ${id}` }])
})

test('an order that cannot be placed leaves nothing behind', async () => {
  await assert.rejects(shop.placeOrder({ ...wanted, email: 'nowhere' }), { code: 'payload_rejected' })
  await queue.assertNotEnqueued(shop.sendMail)
  assert.deepEqual((await shop.pool.query('select from orders')).rowCount, 1)
})

test('a parcel that is lost is refunded', async () => {
  const { id, execution } = await shop.placeOrder({ ...wanted, card: 'lost' })
  await queue.drain([shop.order, makeLabel, shop.sendMail], { throughTime: true })
  assert.equal((await queue.holdfast.executions.get(execution))?.status, 'failed')
  const { rows } = await shop.pool.query('select refunded from payments where order_id = $1', [id])
  assert.deepEqual(rows, [{ refunded: true }])
})

test('a mail to nobody is told to support', async () => {
  await shop.placeOrder({ ...wanted, email: 'bob@nowhere.example' })
  const { completed, dead } = await queue.drain([shop.sendMail, shop.tellSupport], { throughTime: true })
  assert.deepEqual([dead.length, completed.map(({ type }) => type)], [1, ['tell_support']])
})

test('a busy mail server is asked again after 200 ms, and then after twice that', async () => {
  const mail = { to: 'busy@example.com', subject: 'Hello' }
  const runs = [await runJob(shop.sendMail, mail), await runJob(shop.sendMail, mail, { attempt: 2 })]
  assert.deepEqual(
    runs.map(({ status, nextInMs }) => [status, nextInMs]),
    [
      ['failed', 200],
      ['failed', 400],
    ],
  )
})
