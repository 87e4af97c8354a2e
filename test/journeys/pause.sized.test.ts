import { defineType } from 'holdfast'
import type pg from 'pg'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { by, startTogether, startWorkers } from '../support/flow.js'
import { costOf } from '../support/plans.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { sized } from '../support/sized.js'

const mail = defineType({ type: 'mail' })
const other = defineType({ type: 'other' })
const processes = sized({ sample: 2, whole: 3 })
const types = [{ type: 'mail' }, { type: 'other' }]

async function twoTypes(): Promise<Queue> {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([mail, other])
  return queue
}

const mails = (queue: Queue, count: number, key?: string) =>
  queue.holdfast.enqueueMany(Array.from({ length: count }, () => mail.job({ ms: 5, key }, key ? { concurrencyKey: key } : {})))

/** Free jobs of a type, straight into the table. */
async function addMails(client: pg.Client, count: number): Promise<void> {
  await client.query(
    `with made as (
       select (lpad(to_hex((extract(epoch from holdfast.now()) * 1000)::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid as id
       from generate_series(1, $1) as n
     ), stored as (
       insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, payload)
       select m.id, t.id, 5, 5, holdfast.now(), '{}' from made as m, holdfast.types as t where t.name = 'mail'
     )
     insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
     select holdfast.now(), m.id, t.id, t.lane_id, 5, 1 from made as m, holdfast.types as t where t.name = 'mail'`,
    [count],
  )
  await client.query('analyze holdfast.queue')
}

test('a paused type starts nothing in any process while enqueue goes on, says by whom, and goes on when it is resumed', async () => {
  const queue = await twoTypes()
  await startWorkers(queue, processes, { types })
  // More than all workers together prefetch.
  await mails(queue, 3_000)
  await eventually(() => queue.ledger.starts().length > 20)
  await queue.holdfast.flow.pauseType('mail', { by: 'ada', why: 'the mail server is down' })
  // What workers had taken by then still runs or goes back.
  await eventually(async () => (await queue.sql('select count(*)::int as n from holdfast.leases'))[0]?.n === 0)
  const before = queue.ledger.starts().length
  expect(before).toBeLessThan(3_000)
  const id = (await mails(queue, 100))[0]?.id as string
  const others = await queue.holdfast.enqueueMany(Array.from({ length: 50 }, () => other.job({})))
  await eventually(() => others.every((job) => queue.ledger.finishes(job.id).length === 1))
  expect(queue.ledger.starts().length).toBe(before + 50)
  expect(await queue.holdfast.flow.gate('mail')).toMatchObject({
    paused: { by: 'ada', why: 'the mail server is down', at: expect.any(Date) },
  })
  expect((await queue.holdfast.explain(id))?.gates[0]?.why).toBe('mail was paused by ada (the mail server is down)')

  await queue.holdfast.flow.resumeType('mail', { by: 'ada' })
  await eventually(() => queue.ledger.finishes().length === 3_150)
  await eventually(async () => (await queue.sql(`select from holdfast.types where name = 'mail' and not gated`)).length === 1)
}, 120_000)

test('a paused key starts nothing in any process while other keys run, and goes on when it is resumed', async () => {
  const queue = await twoTypes()
  await startWorkers(queue, processes, { types })
  await queue.holdfast.flow.pauseKey('mail', 'acme', { by: 'ada', why: 'they did not pay' })
  const id = (await mails(queue, 100, 'acme'))[0]?.id as string
  await mails(queue, 100, 'other')
  await mails(queue, 20)
  await eventually(() => queue.ledger.finishes().length === 120)
  expect(queue.ledger.starts().filter(({ key }) => key === 'acme')).toEqual([])
  expect((await queue.holdfast.explain(id))?.gates[0]?.why).toBe('key acme of mail was paused by ada (they did not pay)')
  await queue.holdfast.flow.resumeKey('mail', 'acme', { by: 'ada' })
  await eventually(() => queue.ledger.finishes().length === 220)
}, 120_000)

test('100,000 paused jobs in front cost the next claim nothing, counted in pages', async () => {
  const queue = await twoTypes()
  const client = await queue.connect()
  const claim =
    'select unnest(ids) as job_id from holdfast.claim_jobs(1, 1::smallint, null, 10, 60000, array_fill(0, array[10])::bigint[])'
  const claimOthers = async () => {
    await queue.holdfast.enqueueMany(Array.from({ length: 10 }, () => other.job({})))
    return costOf(client, claim)
  }
  await queue.holdfast.flow.pauseType('mail', by)
  await claimOthers()
  const empty = await claimOthers()
  // Enqueued while the type is paused.
  await queue.sql(`insert into holdfast.queue (seq, ready_at, job_id, type_id, lane_id, priority, attempt, pass)
    select holdfast.gate_position(holdfast.now(), 5, interval '1 minute'), holdfast.now(), gen_random_uuid(), t.id, t.lane_id, 5, 1, 1
    from holdfast.types as t, generate_series(1, 100000) where t.name = 'mail'`)
  const behind = [await claimOthers(), await claimOthers(), await claimOthers()]
  expect(behind.map(({ rows }) => rows)).toEqual([10, 10, 10])
  // The least of three: where statistics have just come in, a claim plans again and reads the catalogue for it.
  expect(Math.min(...behind.map(({ pages }) => pages))).toBeLessThanOrEqual(empty.pages * 1.2)
}, 120_000)

const paused = sized({ sample: 20_000, whole: 100_000 })

test(`${paused} jobs that stood in the queue when their type was paused are out of the way within moments`, async () => {
  const queue = await twoTypes()
  const client = await queue.connect()
  await addMails(client, paused)
  await queue.holdfast.flow.pauseType('mail', by)
  const { id } = await queue.holdfast.enqueue(other, {})
  await startTogether(queue, 2, { types })
  await eventually(() => queue.ledger.finishes(id).length === 1)
  await eventually(async () => (await queue.sql('select count(*)::int as n from holdfast.queue where pass > 0'))[0]?.n === paused)
  expect(queue.ledger.starts().length).toBe(1)
}, 120_000)
