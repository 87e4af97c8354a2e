import { expect, test } from 'vitest'
import { ada, makeScheduledQueue, type ScheduledQueue } from '../support/schedules.js'

/** Claims what is free, as a worker would, and says which jobs. */
async function claim(queue: ScheduledQueue): Promise<{ id: string; lease: string }[]> {
  return (await queue.sql(
    `select unnest(ids)::text as id, lease::text from holdfast.claim_jobs(1, (select lane_id from holdfast.types where name = 'report'), null, 10, 60000,
                                                                     array_fill(0::bigint, array[10]))`,
  )) as { id: string; lease: string }[]
}

async function complete(queue: ScheduledQueue, jobs: { id: string; lease: string }[]): Promise<void> {
  for (const { id, lease } of jobs) {
    await queue.sql(
      `select holdfast.settle_jobs(array[$1::uuid], array[$2::bigint], '{}', '{}', '{}', '{1}', '{0}', '{}', 1, array[$2::bigint])`,
      [id, lease],
    )
  }
}

async function tickAt(queue: ScheduledQueue, ...times: string[]): Promise<void> {
  for (const time of times) {
    await queue.setClock(`2026-01-01T${time}:05Z`)
    await queue.fire()
  }
}

test('allow: every tick makes its job', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({})
  await tickAt(queue, '01:00', '02:00')
  expect(await queue.jobs()).toEqual(['01:00 pending', '02:00 pending'])
})

test('skip: a tick makes no job while an earlier one waits or runs, and names it', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ overlap: 'skip' })
  await tickAt(queue, '01:00', '02:00')
  const running = await claim(queue)
  await tickAt(queue, '03:00')
  expect(await queue.ticks()).toEqual(['01:00 created', '02:00 skipped', '03:00 skipped'])
  const { ticks } = (await queue.holdfast.schedules.get('hourly')) ?? { ticks: [] }
  expect(ticks.map(({ inTheWay, status }) => ({ inTheWay, status }))).toEqual([
    { inTheWay: running[0]?.id, status: null },
    { inTheWay: running[0]?.id, status: null },
    { inTheWay: null, status: 'processing' },
  ])
  const byHand = await queue.holdfast.schedules.runNow('hourly', ada)
  expect(byHand).toEqual({ job: null, outcome: 'skipped', inTheWay: running[0]?.id })
  await complete(queue, running)
  await tickAt(queue, '04:00')
  expect(await queue.jobs()).toEqual(['01:00 completed', '04:00 pending'])
})

test('queue: one more waits for the end of the one that runs, and no second one', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ overlap: 'queue' })
  await tickAt(queue, '01:00')
  const running = await claim(queue)
  await tickAt(queue, '02:00', '03:00')
  expect(await queue.ticks()).toEqual(['01:00 created', '02:00 queued', '03:00 skipped'])
  expect(await queue.jobs()).toEqual(['01:00 processing', '02:00 blocked'])
  await complete(queue, running)
  expect(await queue.jobs()).toEqual(['01:00 completed', '02:00 pending'])
})

test('cancel: a tick cancels what runs and what waits, and of missed ticks only the last makes a job', async () => {
  const queue = await makeScheduledQueue()
  await queue.create({ overlap: 'cancel', missed: { all: 5 } })
  await tickAt(queue, '01:00')
  await claim(queue)
  await tickAt(queue, '02:00', '05:30')
  expect(await queue.ticks()).toEqual(['01:00 created', '02:00 created', '03:00 skipped', '04:00 skipped', '05:00 created'])
  expect(await queue.jobs()).toEqual(['01:00 cancelled', '02:00 cancelled', '05:00 pending'])
  const story = await queue.sql(`select error ->> 'message' as message from holdfast.history order by ended_at limit 1`)
  expect(story).toEqual([{ message: 'cancelled by schedule hourly: its next tick came' }])
})

test('cancel: a tick waits for a job that somebody holds, and no other schedule waits with it; then it cancels that and makes its own', async () => {
  const queue = await makeScheduledQueue()
  const many = ['a', 'b', 'c']
  for (const name of many) await queue.create({ name, overlap: 'cancel' })
  await tickAt(queue, '01:00')
  const held = await queue.sql(
    'select t.job_id from holdfast.ticks as t join holdfast.schedules as s on s.id = t.schedule_id where s.name <> $1',
    ['c'],
  )
  const other = await queue.connect()
  await other.query('begin')
  await other.query('select from holdfast.queue where job_id = any ($1) for update', [held.map(({ job_id }) => job_id)])
  await tickAt(queue, '02:00')
  expect(await queue.ticks('a')).toEqual(['01:00 created'])
  expect(await queue.ticks('c')).toEqual(['01:00 created', '02:00 created'])
  const [a] = await queue.holdfast.schedules.list()
  expect(a).toMatchObject({
    name: 'a',
    error: { message: expect.stringMatching(/^job .* of an earlier tick is held by a transaction/) },
  })
  await expect(queue.holdfast.schedules.runNow('a', ada)).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/is held/),
  })
  await other.query('rollback')
  await queue.setClock('2026-01-01T02:00:30Z')
  await queue.fire()
  for (const name of many) expect(await queue.ticks(name)).toEqual(['01:00 created', '02:00 created'])
  expect((await queue.jobs()).sort()).toEqual([...many.map(() => '01:00 cancelled'), ...many.map(() => '02:00 pending')])
  expect(queue.told).toEqual([])
})

test('the uniqueness of the type does not come in between', async () => {
  const queue = await makeScheduledQueue()
  await queue.sql(`update holdfast.types set uniqueness = '{"by": "payload", "on_conflict": "reject"}' where name = 'report'`)
  await queue.create({})
  await tickAt(queue, '01:00', '02:00')
  expect(await queue.jobs()).toEqual(['01:00 pending', '02:00 pending'])
  expect(queue.told).toEqual([])
})
