import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const plain = defineType({ type: 'plain', run() {} })

/** From here on whatever writes such a row fails, as it would on a row that is damaged or breaks a rule of the server. */
async function refuse(queue: Queue, table: string, when: string): Promise<() => Promise<unknown>> {
  await queue.sql(`
    create function public.refuse() returns trigger language plpgsql as $$ begin raise 'this row is damaged'; end $$;
    create trigger refuse before insert on holdfast.${table} for each row when (${when}) execute function public.refuse()`)
  return () => queue.sql(`drop trigger refuse on holdfast.${table}`)
}

const completed = async (queue: Queue, type: string) =>
  (await queue.sql(`select from holdfast.jobs where type = $1 and status = 'completed'`, [type])).length

/** What a worker said was wrong. */
function listen(worker: Awaited<ReturnType<typeof startHere>>) {
  const failed: { duty: string; of?: string; error: string }[] = []
  const away: string[] = []
  worker.events.on('duty.failed', (event) => void failed.push(event))
  worker.events.on('database.away', ({ error }) => void away.push(error))
  return { failed, away }
}

test('one deadline that cannot be applied is set aside by name, and everything else that is due runs', async () => {
  const queue = await makeQueue()
  const approval = { deadline: '1s', onDeadline: 'approve' } as const
  const bad = await queue.holdfast.enqueue(plain, 'bad', { approval: { ...approval, onDeadline: 'cancel' } })
  const good = await queue.holdfast.enqueueMany(Array(5).fill({ type: 'plain', payload: 'good', approval }))
  const mend = await refuse(queue, 'approvals', `new.job_id = '${bad.id}'`)
  await queue.sql(`update holdfast.waiting set due_at = holdfast.now() - interval '1 minute'`)
  await queue.holdfast.enqueueMany(Array(40).fill({ type: 'plain', payload: {}, delay: 100 }))
  const worker = await startHere(queue, [plain])
  const { failed, away } = listen(worker)
  await eventually(async () => (await completed(queue, 'plain')) === 40 + good.length)
  await eventually(() => failed.length > 0)
  expect(failed[0]).toEqual({ duty: 'deadlines', of: bad.id, error: expect.stringContaining('this row is damaged') })
  expect(away).toEqual([])
  expect(worker.health().status).toBe('ok')
  expect(await queue.sql('select duty, of, times from holdfast.set_aside')).toEqual([{ duty: 'deadlines', of: bad.id, times: 1 }])
  expect((await queue.holdfast.explain(bad.id))?.gates[0]).toMatchObject({
    gate: 'set_aside',
    why: expect.stringContaining('this row is damaged'),
  })

  await mend()
  await queue.sql('update holdfast.set_aside set again_at = holdfast.now()')
  await eventually(async () => (await queue.holdfast.job(bad.id))?.status === 'cancelled')
  expect(await queue.sql('select from holdfast.set_aside')).toEqual([])
}, 60_000)

test('of a thousand due jobs the two that cannot be queued are found, and the others run at once', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([plain])
  const jobs = await queue.holdfast.enqueueMany(Array(1_000).fill({ type: 'plain', payload: {}, delay: '1h' }))
  const bad = [jobs[3]?.id, jobs[700]?.id] as string[]
  await refuse(queue, 'queue', `new.job_id in ('${bad.join("', '")}')`)
  await queue.sql(`update holdfast.waiting set due_at = holdfast.now() - interval '1 minute'`)
  const { failed } = listen(await startHere(queue, [plain], { concurrency: 100 }))
  await eventually(async () => (await completed(queue, 'plain')) === 998)
  await eventually(() => failed.length === 2)
  expect(failed.map(({ duty, of }) => `${duty} ${of}`).sort()).toEqual(bad.map((id) => `promote ${id}`).sort())
  expect((await queue.sql(`select job_id::text as id from holdfast.waiting order by 1`)).map(({ id }) => id)).toEqual(
    [...bad].sort(),
  )
}, 60_000)

test('a gate that fails is set aside and named, and the other gates let their jobs through', async () => {
  const queue = await makeQueue()
  const [broken, whole] = ['broken', 'whole'].map((type) => defineType({ type, limits: { maxRunning: 2 }, run() {} })) as [
    typeof plain,
    typeof plain,
  ]
  await queue.holdfast.registerTypes([broken, whole, plain], { update: true })
  const [row] = await queue.sql(`select id from holdfast.types where name = 'broken'`)
  const mend = await refuse(queue, 'gate_leases', `new.type_id = ${row?.id}`)
  await queue.holdfast.enqueueMany([broken, whole, plain].flatMap(({ type }) => Array(10).fill({ type, payload: {} })))
  const { failed, away } = listen(await startHere(queue, [broken, whole, plain]))
  await eventually(async () => (await completed(queue, 'whole')) === 10 && (await completed(queue, 'plain')) === 10)
  await eventually(() => failed.length > 0)
  expect(failed[0]).toEqual({ duty: 'admit', of: 'broken', error: expect.stringContaining('this row is damaged') })
  expect(away).toEqual([])

  await mend()
  await queue.sql('update holdfast.set_aside set again_at = holdfast.now()')
  await eventually(async () => (await completed(queue, 'broken')) === 10)
}, 60_000)

test('where nothing can be promoted at all, jobs that are free run nevertheless, and the worker says what fails', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([plain])
  await queue.sql('alter function holdfast.tick rename to tick_gone')
  await queue.holdfast.enqueueMany(Array(20).fill({ type: 'plain', payload: {} }))
  const worker = await startHere(queue, [plain], { lease: '4s', unhealthyAfter: '2s' })
  const { failed, away } = listen(worker)
  await eventually(async () => (await completed(queue, 'plain')) === 20)
  await eventually(() => failed.length > 0)
  expect(failed[0]).toEqual({ duty: 'promote', error: expect.stringContaining('tick') })
  expect(away).toEqual([])
  // On a busy machine the first heartbeat may be late too, and its reason stands first until it has come.
  const isToldOf = (reason = '') => /nothing that is due has been promoted for \d+ s: .*tick/.test(reason)
  await eventually(() => worker.health().status === 'unhealthy' && isToldOf(worker.health().reason))

  await queue.sql('alter function holdfast.tick_gone rename to tick')
  await eventually(() => worker.health().status === 'ok')
}, 60_000)

test('where the claims of one lane are refused, the other lanes run on, and the worker says what fails', async () => {
  const queue = await makeQueue()
  const damaged = defineType({ type: 'damaged', lane: 'maintenance', run() {} })
  await queue.holdfast.registerTypes([plain, damaged])
  const [{ id: lane }] = (await queue.sql(`select id from holdfast.lanes where name = 'maintenance'`)) as [{ id: number }]
  await queue.sql(`
    create function public.refuse() returns trigger language plpgsql as $$ begin raise 'this row is damaged'; end $$;
    create trigger refuse before update on holdfast.queue for each row when (new.lane_id = ${lane}) execute function public.refuse()`)
  await queue.holdfast.enqueue(damaged, {})
  const worker = await startHere(queue, [plain, damaged])
  const { failed } = listen(worker)
  await eventually(() => failed.some(({ duty, error }) => duty === 'claim' && error.includes('this row is damaged')))
  for (let jobs = 1; jobs <= 20; jobs++) {
    await queue.holdfast.enqueue(plain, {})
    await eventually(async () => (await completed(queue, 'plain')) === jobs)
  }
  expect(failed.filter(({ duty }) => duty === 'claim')).toHaveLength(1)
  expect(await completed(queue, 'damaged')).toBe(0)
  await queue.sql('drop trigger refuse on holdfast.queue')
  await eventually(async () => (await completed(queue, 'damaged')) === 1)
}, 60_000)
