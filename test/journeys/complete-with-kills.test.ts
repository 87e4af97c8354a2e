import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { runProgram } from '../support/processes.js'
import { makeQueue } from '../support/queue.js'

const order = defineType({ type: 'order' })

test('a worker that is killed before or after the commit of completeWith leaves the row and the end of the job, or neither', async () => {
  const queue = await makeQueue()
  await queue.sql('create table orders (id text, attempt int)')
  const settings = { database: queue.url, worker: { lease: '2s' } }
  const { id: before } = await queue.holdfast.enqueue(order, { order: 'before', kill: 'before' })
  expect((await runProgram('complete-with-program', settings).exited).signal).toBe('SIGKILL')
  expect(await queue.sql('select * from orders')).toEqual([])
  const { id: after } = await queue.holdfast.enqueue(order, { order: 'after', kill: 'after' })
  expect((await runProgram('complete-with-program', settings).exited).signal).toBe('SIGKILL')
  expect(await queue.sql("select attempt from orders where id = 'after'")).toEqual([{ attempt: 1 }])
  expect(await queue.holdfast.job(after)).toMatchObject({ status: 'completed', attempts: [{ outcome: 'completed' }] })
  runProgram('complete-with-program', settings)
  expect(await queue.holdfast.wait(before, { timeout: '60s' })).toBe('before')
  expect(await queue.sql('select id, attempt from orders order by id')).toEqual([
    { id: 'after', attempt: 1 },
    { id: 'before', attempt: 2 },
  ])
  expect(await queue.holdfast.job(before)).toMatchObject({
    attempts: [{ outcome: 'lease_expired' }, { outcome: 'completed' }],
  })
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
})
