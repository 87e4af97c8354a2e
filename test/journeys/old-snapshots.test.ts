import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { quiet } from '../support/small-worker.js'

const who = { by: 'ada', why: 'a test' }

test.each([
  ['one job', 1],
  ['many at once', 3],
])('a caller whose snapshot is older than the move of a type enqueues %s into the lane of today', async (_what, count) => {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  const holdfast = new Holdfast({ connectionString: scratch.connectionString })
  const caller = new pg.Client({ connectionString: scratch.connectionString })
  await caller.connect()
  const ran: unknown[] = []
  const moving = defineType({ type: 'moving', run: async (payload: unknown) => void ran.push(payload) })
  const worker = await startWorker(holdfast, [moving], { logger: quiet })
  onTestFinished(async () => {
    await worker.stop()
    await caller.end()
    await holdfast.close()
    await scratch.drop()
  })
  await caller.query('begin isolation level repeatable read')
  const seen = async () =>
    (
      await caller.query(
        `select l.name from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id where t.name = 'moving'`,
      )
    ).rows[0].name
  expect(await seen()).toBe('default')
  await holdfast.flow.moveType('moving', 'maintenance', who)
  await insideOf(holdfast).store.moveClock({ byMs: 2 * 3_600_000 })
  const forgotten = async () => {
    await insideOf(holdfast).store.operate.bringStrays(10)
    const sql = `select left_lanes = '{}' as forgotten from holdfast.types where name = 'moving'`
    const other = new pg.Client({ connectionString: scratch.connectionString })
    await other.connect()
    return (await other.query(sql).finally(() => other.end())).rows[0].forgotten
  }
  await eventually(forgotten)
  // The caller still sees the lane that the type has left, and nobody looks there any more.
  expect(await seen()).toBe('default')
  const old = `select clock_timestamp() - transaction_timestamp() > interval '5 seconds' as old`
  await eventually(async () => (await caller.query(old)).rows[0].old)
  await holdfast.enqueueMany(
    Array.from({ length: count }, (_, n) => moving.job(n)),
    { tx: caller },
  )
  await caller.query('commit')
  await eventually(async () => ran.length === count)
})
