import { Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { fromTheHead } from '../support/bare-queue.js'
import { eventually } from '../support/facts.js'
import { by, mostAtOnce, startTogether } from '../support/flow.js'
import { startPgBouncer } from '../support/pgbouncer.js'
import { whenInstalled } from '../support/programs.js'
import { openQueue, work } from '../support/queue.js'

/** Somebody else's database may have another default; what counts slots and waits for locks must not notice. */
async function databaseIn(level: string): Promise<string> {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  onTestFinished(() => scratch.drop())
  const client = new pg.Client({ connectionString: scratch.connectionString })
  await client.connect()
  await client.query(
    `do $$ begin execute format('alter database %I set default_transaction_isolation = %L', current_database(), '${level}'); end $$`,
  )
  await client.end()
  return scratch.connectionString
}

/** Operators and claims at once: none is refused, and no more are claimed than the lane has slots. */
async function manyAtOnce(holdfast: Holdfast): Promise<void> {
  onTestFinished(() => holdfast.close())
  await holdfast.registerTypes([work])
  await holdfast.flow.setLane('default', { slots: 5 }, by)
  await holdfast.enqueueMany(Array.from({ length: 50 }, () => work.job({})))
  const [known] = await insideOf(holdfast).store.types(['work'])
  const { id: type, lane } = known as { id: number; lane: number }
  const ask = { worker: 1, lane, types: [type], limit: 2, inARow: 2, leaseMs: 60_000, after: fromTheHead.map(BigInt) }
  const claimed = await Promise.all(Array.from({ length: 10 }, () => insideOf(holdfast).store.claim(ask)))
  expect(claimed.flat()).toHaveLength(5)
  await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      Promise.all([
        holdfast.flow.limit('work', { maxRunning: n + 1 }, { by: 'ada' }),
        holdfast.flow.pauseKey('work', `key ${n}`, by),
      ]),
    ),
  )
}

test.each(['repeatable read', 'serializable'])(
  'where the default is %s, everything of ours runs in read committed',
  async (level) => {
    await manyAtOnce(new Holdfast({ connectionString: await databaseIn(level), connections: 4 }))
  },
)

test('it does in a pool of the caller too, whose connections keep their default', async () => {
  const pool = new pg.Pool({ connectionString: await databaseIn('repeatable read'), max: 4 })
  await manyAtOnce(new Holdfast({ pool }))
  expect((await pool.query('show default_transaction_isolation')).rows[0].default_transaction_isolation).toBe('repeatable read')
  onTestFinished(() => pool.end())
})

whenInstalled('pgbouncer', 'it does behind PgBouncer in transaction mode', async (program) => {
  const url = await startPgBouncer(program, await databaseIn('repeatable read'), 4)
  await manyAtOnce(new Holdfast({ connectionString: url, connections: 4, preparedStatements: false }))
})

test('workers on such a database keep to the slots of a lane and run every job once', async () => {
  const queue = openQueue(await databaseIn('repeatable read'))
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.setLane('default', { slots: 2 }, by)
  await startTogether(queue, 2)
  await queue.holdfast.enqueueMany(Array.from({ length: 30 }, () => work.job({ ms: 5 })))
  await eventually(() => queue.ledger.finishes().length === 30, { every: 50 })
  expect(mostAtOnce(queue.ledger.entries())).toBeLessThanOrEqual(2)
  await eventually(async () => (await queue.sql('select from holdfast.queue')).length === 0)
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
})
