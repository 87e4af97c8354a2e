import { defineType, type RunContext } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue, work } from '../support/queue.js'
import { work as workThat } from '../support/small-worker.js'
import { startHere } from '../support/worker-here.js'

/** What groups promise to those who end jobs, below batches and executions: SQL alone, as every program calls it. */
const callbacks = Object.fromEntries(
  ['success', 'failure', 'complete'].map((kind) => [kind, { type: 'work', payload: `"${kind}"` }]),
)

async function makeBatch(queue: Queue, payloads: readonly unknown[]): Promise<string> {
  const jobs = await queue.holdfast.enqueueMany(payloads.map((payload) => work.job(payload, { maxAttempts: 1, delay: '1h' })))
  const [{ id }] = (await queue.sql('select holdfast.new_job_id() as id')) as [{ id: string }]
  await queue.sql('select holdfast.create_batch($1, null, null, $2, false)', [id, callbacks])
  await queue.sql('select holdfast.join_batch($1, $2, null, true)', [id, jobs.map((job) => job.id)])
  return id
}

const inOneTransaction = defineType({
  type: 'work',
  chunk: { size: 2, wait: 10 },
  run: async (jobs) => {
    for (const { ctx } of jobs) await ctx.completeWith(async () => {})
    return undefined
  },
})
const runThem = (queue: Queue) => queue.holdfast.runNowMany({ type: 'work' }, { by: 'test' })
const stateOf = async (queue: Queue, id: string) =>
  (
    await queue.sql('select status, round, live, completed, dead, cancelled, discarded from holdfast.batches where id = $1', [id])
  )[0]
const called = async (queue: Queue, id: string) =>
  (await queue.sql('select round, kind from holdfast.batch_callbacks where batch_id = $1 order by round, kind', [id])).map(
    ({ round, kind }) => `${round} ${kind}`,
  )

describe('a group', () => {
  test('is advanced by the worker that ended its last member, and has one callback of each kind that is due', async () => {
    const queue = await makeQueue()
    const heard: unknown[] = []
    const id = await makeBatch(queue, [1, 2, 3])
    await startHere(queue, [workThat((payload) => void heard.push(payload))])
    await runThem(queue)
    await eventually(() => heard.includes('complete') && heard.includes('success'))
    expect(await stateOf(queue, id)).toMatchObject({ status: 'succeeded', round: 1, live: 0, completed: 3 })
    expect(await called(queue, id)).toEqual(['1 complete', '1 success'])
    expect(await queue.sql('select from holdfast.open_groups')).toEqual([])
  })

  test.each([
    ['in a transaction of the handler', workThat((_: unknown, { completeWith }: RunContext) => completeWith(async () => {}))],
    [
      'in a call with others',
      defineType({ type: 'work', chunk: { size: 2, wait: 10 }, run: (jobs) => jobs.map(() => undefined) }),
    ],
    ['in a call with others and a transaction of the handler', inOneTransaction],
  ])('is advanced at once by the worker whose handler ended its last members %s', async (_, type) => {
    const queue = await makeQueue()
    // Nobody else does.
    const [{ of }] = (await queue.sql("select pg_get_functiondef('holdfast.do_duty'::regproc) as of")) as [{ of: string }]
    await queue.sql(of.replace('perform holdfast.advance_groups(v_part::uuid[])', 'null'))
    const id = await makeBatch(queue, [1, 2])
    await startHere(queue, [type])
    await runThem(queue)
    await eventually(async () => (await stateOf(queue, id))?.status === 'succeeded')
  })

  test('is advanced by a tick where whoever ended its last member did not live to do it', async () => {
    const queue = await makeQueue()
    const id = await makeBatch(queue, [1, 2])
    const jobs = (await queue.sql('select job_id from holdfast.members')).map((row) => row.job_id)
    await queue.sql("select holdfast.cancel_jobs($1, holdfast.actor('ada', 'no'))", [jobs])
    expect(await stateOf(queue, id)).toMatchObject({ status: 'running', live: 0 })
    await queue.sql("select * from holdfast.tick(100, '-infinity')")
    expect(await stateOf(queue, id)).toMatchObject({ status: 'failed', cancelled: 2 })
    expect(await called(queue, id)).toEqual(['1 complete', '1 failure'])
  })

  test('is advanced beside any number of others that failed and are set aside', async () => {
    const queue = await makeQueue()
    await queue.sql(`insert into holdfast.group_changes (group_id, was, became, jobs)
      select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'live', 'completed', 1 from generate_series(1, 150) as n`)
    await queue.sql(`select holdfast.put_aside('groups', c.group_id::text, 'refused') from holdfast.group_changes as c`)
    const [byTick, byWorker] = [await makeBatch(queue, [1]), await makeBatch(queue, [2])]
    const jobs = (id: string) => queue.sql('select job_id from holdfast.members where group_id = $1', [id])
    const end = async (id: string) =>
      queue.sql("select holdfast.cancel_jobs($1, holdfast.actor('ada', 'no'))", [(await jobs(id)).map((row) => row.job_id)])
    await end(byTick)
    await queue.sql("select * from holdfast.tick(100, '-infinity')")
    expect(await stateOf(queue, byTick)).toMatchObject({ status: 'failed', cancelled: 1 })
    await end(byWorker)
    await insideOf(queue.holdfast).store.groups.advance()
    expect(await stateOf(queue, byWorker)).toMatchObject({ status: 'failed', cancelled: 1 })
  })

  test('begins another round when a dead member is replayed after its end', async () => {
    const queue = await makeQueue()
    let broken = true
    const id = await makeBatch(queue, ['good', 'bad'])
    await startHere(queue, [
      workThat((payload) => {
        if (payload === 'bad' && broken) throw new Error('broken')
      }),
    ])
    await runThem(queue)
    await eventually(async () => (await stateOf(queue, id))?.status === 'failed')
    broken = false
    await queue.holdfast.deadLetters.replayMany({ type: 'work' }, { by: 'ada' })
    await eventually(async () => (await stateOf(queue, id))?.status === 'succeeded')
    expect(await stateOf(queue, id)).toMatchObject({ round: 2, completed: 2, dead: 0 })
    expect(await called(queue, id)).toEqual(['1 complete', '1 failure', '2 complete', '2 success'])
  })

  test('counts a cancelled job once, when its handler has stopped, also where the job was forgotten by then', async () => {
    const queue = await makeQueue()
    const id = await makeBatch(queue, [1, 2])
    const started: string[] = []
    let stop = () => {}
    const stopped = new Promise<void>((resolve) => {
      stop = resolve
    })
    await startHere(queue, [
      workThat(async (payload, { job, signal }) => {
        if (typeof payload === 'string') return
        started.push(job.id)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        await stopped
      }),
    ])
    await runThem(queue)
    await eventually(() => started.length === 2)
    for (const job of started) await queue.holdfast.cancel(job, { by: 'ada' })
    await queue.holdfast.forget(started[0] as string, { by: 'ada' })
    await queue.sql("select * from holdfast.tick(100, '-infinity')")
    expect(await stateOf(queue, id)).toMatchObject({ status: 'running', live: 2, cancelled: 0 })
    stop()
    await eventually(async () => (await stateOf(queue, id))?.status === 'failed')
    expect(await stateOf(queue, id)).toMatchObject({ live: 0, cancelled: 2 })
  })
})

test('a batch that is swept while somebody revives a member of it does not stay open, which every settle would pay for', async () => {
  const queue = await makeQueue()
  const id = await makeBatch(queue, [1])
  const [{ job_id: job }] = (await queue.sql('select job_id from holdfast.members')) as [{ job_id: string }]
  await queue.holdfast.cancel(job, { by: 'ada' })
  await queue.sql("select * from holdfast.tick(100, '-infinity')")
  await queue.sql("update holdfast.batches set finished_at = finished_at - interval '90 days' where id = $1", [id])
  const reviving = await queue.connect()
  await reviving.query('begin')
  await reviving.query("select holdfast.resume_job($1, holdfast.actor('ada'))", [job])
  const sweep = () => insideOf(queue.holdfast).store.partitions.sweep({ completedMs: 86_400_000, deadMs: 86_400_000 }, 1_000)
  await sweep()
  expect(await queue.sql('select from holdfast.batches')).toEqual([])
  await reviving.query('commit')
  await queue.sql("select * from holdfast.tick(100, '-infinity')")
  await sweep()
  expect(await queue.sql('select from holdfast.open_groups union all select from holdfast.group_changes')).toEqual([])
})

test('nobody who ends a member waits for somebody who has the row of its group', async () => {
  const queue = await makeQueue()
  const id = await makeBatch(queue, [1, 2, 3])
  const holder = await queue.connect()
  await holder.query('begin')
  await holder.query('select from holdfast.batches where id = $1 for update', [id])
  await holder.query('select from holdfast.open_groups where group_id = $1 for update', [id])
  let ended = 0
  await startHere(queue, [workThat(() => void ended++)])
  await runThem(queue)
  await eventually(async () => (await queue.sql("select from holdfast.jobs where status = 'completed'")).length === 3)
  expect(await stateOf(queue, id)).toMatchObject({ status: 'running' })
  await holder.query('commit')
  await eventually(async () => (await stateOf(queue, id))?.status === 'succeeded')
})
