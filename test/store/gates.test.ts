import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BareQueue, makeBareQueue } from '../support/bare-queue.js'
import { eventually } from '../support/facts.js'

/** What gates leave in the database. */
let queue: BareQueue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 2 })
})

afterEach(async () => {
  await holdfast.close()
  await queue.close()
})

const count = async (table: string) => Number((await queue.client.query(`select count(*) from holdfast.${table}`)).rows[0].count)

test('jobs that went through a limit without keys leave no note of their arrival behind', async () => {
  const limited = defineType({ type: 'limited', run: async () => {} })
  await holdfast.types.ensure([limited])
  await holdfast.flow.limit('limited', { maxRunning: 1 })
  for (let i = 0; i < 30; i++) await holdfast.enqueue(limited, {})
  expect(await count('arrivals')).toBeGreaterThan(0)
  const quiet = { info() {}, warn() {}, error: console.error }
  const worker = await startWorker(holdfast, [limited], { logger: quiet })
  try {
    await eventually(async () => expect(await count('history')).toBe(30))
  } finally {
    await worker.stop()
  }
  expect(await count('arrivals')).toBe(0)
})
