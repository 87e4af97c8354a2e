import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { work } from '../support/small-worker.js'
import { startHere } from '../support/worker-here.js'

test('a result that a limit of the server keeps from being committed is kept and written later, and holds up no other', async () => {
  const queue = await makeQueue()
  const ran: string[] = []
  const type = work((_, { job }) => void ran.push(job.id))
  await queue.holdfast.registerTypes([type])
  const jobs = await queue.holdfast.enqueueMany(Array(10).fill({ type: 'work', payload: {} }))
  const bad = jobs[4]?.id as string
  // At the commit and with the code of a full queue of NOTIFY.
  await queue.sql(`
    create function public.too_many() returns trigger language plpgsql as $$
    begin raise 'too many notifications in the NOTIFY queue' using errcode = '54000'; end $$;
    create constraint trigger too_many after insert on holdfast.history deferrable initially deferred
      for each row when (new.job_id = '${bad}') execute function public.too_many()`)
  // All of them under one lease, which must not be closed before the last of them is written.
  const worker = await startHere(queue, [type], { concurrency: 20, lease: '4s' })
  const failed: string[] = []
  worker.events.on('duty.failed', ({ duty, error }) => void failed.push(`${duty}: ${error}`))
  const written = async () => (await queue.sql('select job_id from holdfast.history')).length
  await eventually(async () => (await written()) === 9)
  await eventually(() => failed.some((line) => line.startsWith('settle: too many notifications')))
  expect(worker.health().unwritten).toBe(1)
  expect(await queue.sql('select cardinality(jobs) as jobs from holdfast.leases')).toEqual([{ jobs: 10 }])

  await queue.sql('drop trigger too_many on holdfast.history')
  await eventually(async () => (await written()) === 10 && worker.health().unwritten === 0)
  expect(await queue.sql(`select outcome::text from holdfast.history where job_id = '${bad}'`)).toEqual([
    { outcome: 'completed' },
  ])
  expect(ran).toHaveLength(10)
  await eventually(async () => (await queue.sql('select from holdfast.leases')).length === 0)
}, 60_000)
