/** The two runbooks whose mess takes servers of its own: a failover, and a network that loses what is sent. */
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { stepsOf } from '../support/runbook.js'
import { startPair } from '../support/standby.js'
import { startProxy } from '../support/tcp-proxy.js'
import { startHere } from '../support/worker-here.js'

const portOf = (url: string) => Number(new URL(url).port)

/** By the way of a proxy, as everything in production goes by a load balancer; ended with the test. */
function clientOf(url: string): Holdfast {
  const holdfast = new Holdfast({ connectionString: url })
  onTestFinished(() => holdfast.close())
  return holdfast
}

test('the database fails over: nobody restarts anything, and the page shows that nothing is missing', {
  timeout: 240_000,
}, async () => {
  const pair = await startPair()
  const primaryUrl = (await makeScratchDatabase(pair.primary.connectionString)).connectionString
  const proxy = await startProxy(portOf(primaryUrl))
  const url = proxy.through(primaryUrl)
  const holdfast = clientOf(url)
  await holdfast.migrate()
  let answer = () => {}
  const sync = defineType({
    type: 'sync_crm',
    run: () =>
      new Promise<void>((ended) => {
        answer = ended
      }),
  })
  const mail = defineType({ type: 'send_email', run() {} })
  const worker = await startHere({ holdfast }, [sync, mail])
  const statusOf = async (id: string) => (await holdfast.job(id))?.status
  const before = await holdfast.enqueue(sync, {})
  await eventually(async () => (await statusOf(before.id)) === 'processing')
  await caughtUp(primaryUrl, pair.standby.connectionString)

  await pair.primary.stop('immediate')
  const meanwhile = holdfast.enqueue(mail, {}, { retryFor: '2m' })
  await ask(pair.standby.connectionString, 'select pg_promote()')
  proxy.aim(portOf(pair.standby.connectionString))
  proxy.cut()
  const { id } = await meanwhile
  answer()
  await eventually(async () => [await statusOf(before.id), await statusOf(id)].join() === 'completed,completed')

  const [look] = stepsOf('The database fails over', { url })
  const printed = await look?.()
  // One worker, which has lived through it, and no job that still runs.
  expect(printed?.match(/send_email, sync_crm/g)).toHaveLength(1)
  expect(printed).not.toContain(before.id)
  expect(worker.health().status).toBe('ok')
  expect((await holdfast.job(before.id))?.attempts).toMatchObject([{ outcome: 'completed' }])
})

async function ask(url: string, sql: string): Promise<Record<string, unknown>> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows[0]
  } finally {
    await client.end()
  }
}

/** As a synchronous standby would: whatever was committed until now is there too. */
async function caughtUp(primary: string, standby: string): Promise<void> {
  const { lsn } = await ask(primary, 'select pg_current_wal_lsn() as lsn')
  await eventually(async () => (await ask(standby, `select pg_last_wal_replay_lsn() >= '${lsn}' as there`)).there)
}

test('packets are lost: the lease is made longer and back, and every job ends', { timeout: 240_000 }, async () => {
  const queue = await makeQueue()
  const proxy = await startProxy(portOf(queue.url))
  const mail = defineType({ type: 'send_email', run() {} })
  await startHere({ holdfast: clientOf(proxy.through(queue.url)) }, [mail])
  let losing = true
  const network = (async () => {
    for (let round = 1; losing; round++) {
      proxy.freeze()
      await pause(300)
      await proxy.heal()
      await pause(700)
      if (round % 4 === 0) proxy.cut()
    }
  })()
  const done = async () => (await queue.holdfast.jobCounts({ type: 'send_email' })).completed.count
  const steps = stepsOf('Packets are lost', queue)
  let enqueued = 0
  for (const step of steps) {
    await queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => ({ type: mail, payload: {} })))
    enqueued += 20
    await step()
    await eventually(async () => (await done()) === enqueued, { within: 90_000 })
  }
  losing = false
  await network
  const lane = (await queue.holdfast.flow.lanes()).find(({ name }) => name === 'default')
  expect([steps.length, lane?.leaseMs]).toEqual([2, null])
})
