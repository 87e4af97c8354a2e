import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const page = readFileSync(new URL('../../docs/complete-with.md', import.meta.url), 'utf8')

test('the examples of docs/complete-with.md run as they stand', async () => {
  const queue = await makeQueue()
  await queue.sql('create table orders (id int, paid boolean)')
  await queue.sql('create table receipts (id int generated always as identity, order_id int)')
  await queue.sql('create table parcels (order_id int)')
  await queue.sql('insert into orders values (7, false)')
  const sql = postgres(queue.url)
  onTestFinished(() => sql.end())
  const examples = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => code.replace('export ', '')).join('\n')
  const { pay, ship } = new Function('defineType', 'sql', `${examples}\nreturn { pay, ship }`)(defineType, sql)
  await startHere(queue, [pay, ship])
  expect(await queue.holdfast.wait(await queue.holdfast.enqueue(pay, { order: 7 }))).toEqual({ receipt: 1 })
  expect(await queue.holdfast.wait(await queue.holdfast.enqueue(ship, 7))).toEqual({ shipped: 7 })
  expect(await queue.sql('select paid, order_id from orders join parcels on true')).toEqual([{ paid: true, order_id: 7 }])
})
