import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { quiet } from '../support/small-worker.js'

const one = defineType({ type: 'one', run() {} })
const two = defineType({ type: 'two', run() {} })

let queue: ScratchQueue
let sql: pg.Client

beforeEach(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
})
afterEach(async () => {
  await sql.end()
  await queue.close()
})

const used = async (sequence: string) => (await sql.query(`select last_value::int as n from holdfast.${sequence}`)).rows[0].n

test('a start with types and lanes that are known uses no id and writes nothing', async () => {
  const types = [one, two]
  await queue.holdfast.registerTypes(types, { update: true })
  const rows = async () => (await sql.query('select ctid, xmin, xmax, id, name from holdfast.types order by name')).rows
  await insideOf(queue.holdfast).store.operate.seedLane('default', '{}')
  const before = { rows: await rows(), types: await used('types_id_seq'), lanes: await used('lanes_id_seq') }
  for (let n = 0; n < 3; n++) {
    await queue.holdfast.registerTypes(types, { update: true })
    await insideOf(queue.holdfast).store.registerTypes(types, { update: false })
    await insideOf(queue.holdfast).store.operate.setLane(
      'default',
      '{}',
      { by: 'ada', why: null, from: null } as never,
      true,
      null,
    )
    await insideOf(queue.holdfast).store.operate.seedLane('default', '{}')
  }
  expect({ rows: await rows(), types: await used('types_id_seq'), lanes: await used('lanes_id_seq') }).toEqual(before)
})

test('when the ids are used up known types start, change and run, and only a new one is refused, by name', async () => {
  const first = await startWorker(queue.holdfast, [one], { logger: quiet })
  await first.stop()
  await sql.query(`select setval('holdfast.types_id_seq', 2147483647)`)
  const changed = defineType({ type: 'one', priority: 8, run() {} })
  const worker = await startWorker(queue.holdfast, [changed], { logger: quiet })
  await worker.stop()
  expect((await sql.query(`select priority from holdfast.types where name = 'one'`)).rows).toEqual([{ priority: 8 }])
  expect((await queue.holdfast.enqueue(one, {})).status).toBe('created')
  await expect(queue.holdfast.enqueue(two, {})).rejects.toMatchObject({
    code: 'ids_exhausted',
    message: expect.stringContaining('types_id_seq'),
  })
})
