import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { makeQueue } from '../support/queue.js'

const mail = defineType({ type: 'mail', redact: ['secret'] })
const print = defineType({ type: 'print' })

test('jobs lists newest first, a page at a time, and a cursor stays where it is while jobs come', async () => {
  const { holdfast } = await makeQueue()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift((await holdfast.enqueue(mail, { n, secret: 'hush-hush' })).id)
  const first = await holdfast.jobs({}, { limit: 2 })
  expect(first.jobs.map(({ id }) => id)).toEqual(ids.slice(0, 2))
  expect(first.jobs[0]).toMatchObject({ type: 'mail', status: 'pending', payload: { n: 4, secret: '[redacted]' } })
  await holdfast.enqueue(mail, { n: 5 })
  const second = await holdfast.jobs({}, { limit: 2, cursor: first.next as string })
  const third = await holdfast.jobs({}, { limit: 2, cursor: second.next as string })
  expect([...second.jobs, ...third.jobs].map(({ id }) => id)).toEqual(ids.slice(2))
  expect(third.next).toBeNull()
  expect(first.lookedBackTo).toEqual(new Date(Number.parseInt((ids[1] as string).replace('-', '').slice(0, 12), 16)))
  expect(third.lookedBackTo).toBeNull()
})

test('a text is found in keys, tags, errors and payloads, and not in what is redacted', async () => {
  const { holdfast } = await makeQueue()
  const { id } = await holdfast.enqueue(print, { city: 'Zürich' }, { concurrencyKey: 'acme-7', tags: ['urgent'] })
  const hidden = await holdfast.enqueue(mail, { secret: 'zürich' })
  await holdfast.cancel(hidden.id, { by: 'ada', why: 'the printer burns' })
  const found = async (text: string) => (await holdfast.jobs({ text })).jobs.map((job) => job.id)
  for (const text of ['ZÜRICH', 'acme-7', 'Urgent']) expect(await found(text), text).toEqual([id])
  expect(await found('printer BURNS')).toEqual([hidden.id])
  await expect(holdfast.jobs({ text: '' })).rejects.toMatchObject({ field: 'text' })
})

test('jobs filters by what GET /jobs filters by, and refuses what it does not know', async () => {
  const { holdfast } = await makeQueue()
  const { id } = await holdfast.enqueue(print, { tenant: 7 }, { concurrencyKey: 'acme' })
  const later = await holdfast.enqueue(print, { tenant: 8 }, { delay: '1h', concurrencyKey: 'acme' })
  const other = await holdfast.enqueue(mail, { tenant: 7 })
  const ended = await holdfast.enqueue(mail, { tenant: 9 })
  await holdfast.cancel(ended.id, { by: 'ada' })
  await holdfast.flow.moveType('print', 'maintenance', { by: 'ada' })
  const found = async (filter: object) => (await holdfast.jobs(filter)).jobs.map((job) => job.id)
  expect(await found({ type: 'print', status: 'pending' })).toEqual([id])
  expect(await found({ type: 'print', payload: { tenant: 7 } })).toEqual([id])
  expect(await found({ createdAfter: new Date(0), createdBefore: new Date(0) })).toEqual([])
  expect(await found({ owner: 'billing' })).toEqual([])
  expect(await found({ concurrencyKey: 'acme' })).toEqual([later.id, id])
  expect(await found({ concurrencyKey: 'acme', status: 'scheduled' })).toEqual([later.id])
  // A job that waits for its time changes its lane when it comes; one that has ended counts for the lane of its type.
  expect(await found({ lane: 'maintenance' })).toEqual([id])
  expect(await found({ lane: 'default' })).toEqual([ended.id, other.id, later.id])
  const refusals = [{ tpye: 'mail' }, { status: 'done' }, { type: '' }, { createdAfter: 'today' }, { concurrencyKey: '' }]
  for (const filter of refusals)
    await expect(found(filter)).rejects.toMatchObject({ code: 'invalid_option', field: Object.keys(filter)[0] })
  await expect(holdfast.jobs({}, { cursor: 'x' })).rejects.toMatchObject({ field: 'cursor' })
  await expect(holdfast.jobs({}, { limit: 101 })).rejects.toMatchObject({ field: 'limit' })
  await expect(found({ type: 'nosuch' })).rejects.toMatchObject({ code: 'unknown_type' })
  await expect(found({ lane: 'nosuch' })).rejects.toMatchObject({ code: 'unknown_lane' })
})

test('a job that waits is found in the lane that its type has left, however many others are newer', async () => {
  const { holdfast } = await makeQueue()
  const { id } = await holdfast.enqueue(print, {}, { delay: '1h' })
  await holdfast.flow.moveType('print', 'maintenance', { by: 'ada' })
  await holdfast.flow.moveType('print', 'interactive', { by: 'ada' })
  const other = defineType({ type: 'other', lane: 'interactive' })
  await holdfast.enqueueMany(Array.from({ length: 150 }, (_, n) => other.job({ n })))
  expect((await holdfast.jobs({ lane: 'default' })).jobs.map((job) => job.id)).toEqual([id])
})

test('jobs are found by when they ended, those too whose clock was ahead, and those of days that lie whole in the time', async () => {
  const { holdfast, sql } = await makeQueue()
  const day = 86_400_000
  const at = (days: number) => new Date(Date.now() + days * day)
  await holdfast.enqueueMany(Array.from({ length: 150 }, (_, n) => print.job({ n })))
  const ended = async (made: number, end: number) => {
    const [{ id } = {}] = await sql(
      `with job as (
         insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, payload)
         select holdfast.first_id_at($1), t.id, 5, 5, $1, '{}' from holdfast.types as t where t.name = 'print' returning id
       ) insert into holdfast.history (job_id, ended_at, outcome, attempt) select id, $2, 'completed', 1 from job returning job_id as id`,
      [at(made), at(end)],
    )
    return id as string
  }
  const late = await ended(-9, -0.5)
  const usual = await ended(-3.5, -3.4)
  const ahead = await ended(-2.8, -3.3)
  const today = await ended(-0.05, 0)
  const found = async (filter: object) => (await holdfast.jobs(filter)).jobs.map((job) => job.id)
  expect(await found({ endedAfter: at(-3.45), endedBefore: at(-3.25) })).toEqual([ahead, usual])
  expect(await found({ endedBefore: at(-3.25) })).toEqual([ahead, usual])
  expect(await found({ endedAfter: at(-2), endedBefore: at(-0.1) })).toEqual([late])
  expect(await found({ endedAfter: at(-3.45) })).toEqual([today, ahead, usual, late])
  expect(await found({ endedAfter: at(-2) })).toEqual([today, late])
  expect(await found({ endedBefore: at(-4) })).toEqual([])
})
