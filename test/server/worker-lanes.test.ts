import { defineType } from 'holdfast'
import { createServer } from 'holdfast/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
const first = defineType({ type: 'first', lane: 'default' })
const second = defineType({ type: 'second', lane: 'maintenance' })

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([first, second], { update: true })
})
afterAll(() => serving.end())

const call = async (path: string, body: unknown): Promise<Answer> => (await serving.call('POST', `/worker/${path}`, body)).json()
const registered = async (types: string[]) => (await call('register', { name: 'w', types })).worker as string

test('a poll over two lanes answers with the jobs of the first one when the second one fails', async () => {
  const worker = await registered(['first', 'second'])
  await serving.sql.query(`
    create function refuse() returns trigger language plpgsql as $$
    begin
      if exists (select from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where b.id = any (new.jobs) and t.name = 'second') then
        raise exception 'refused';
      end if;
      return new;
    end $$;
    create trigger refuse before insert on holdfast.leases for each row execute function refuse()`)
  const { id } = await serving.holdfast.enqueue(first, {})
  await serving.holdfast.enqueue(second, {})
  const { jobs } = await call('claim', { worker, limit: 10, wait: '10s' })
  expect(jobs).toMatchObject([{ id, type: 'first' }])
  const failed = await serving.call('POST', '/worker/claim', { worker, limit: 10 })
  expect(failed.status).toBe(500)
  await serving.sql.query('drop trigger refuse on holdfast.leases')
  expect((await call('claim', { worker, limit: 10, wait: '10s' })).jobs).toMatchObject([{ type: 'second' }])
  await call('sign-off', { worker })
  await serving.holdfast.cancelMany({ all: true }, { by: 'the test' })
})

test('polls of one worker at the same moment, at two servers, keep to the slots a lane has in it', async () => {
  await serving.holdfast.flow.setLane('default', { workerSlots: 2 }, { by: 'ada' })
  const other = createServer(serving.holdfast, { adminKey, logger: quiet })
  const worker = await registered(['first'])
  const at = [
    (body: object) => call('claim', body),
    async (body: object) =>
      (
        await other.inject({
          method: 'POST',
          url: '/worker/claim',
          payload: body,
          headers: { authorization: `Bearer ${adminKey}` },
        })
      ).json(),
  ]
  for (let round = 0; round < 5; round++) {
    await serving.holdfast.enqueueMany(Array.from({ length: 12 }, () => first.job({})))
    const polls = Array.from({ length: 8 }, (_, n) => at[n % 2]?.({ worker, limit: 2 }))
    const claimed = (await Promise.all(polls)).flatMap((answer) => answer.jobs)
    expect(claimed.length).toBeLessThanOrEqual(2)
    const { rows } = await serving.sql.query('select count(*)::int as held from holdfast.queue where lease_id is not null')
    expect(rows).toEqual([{ held: claimed.length }])
    for (const { id, lease } of claimed) await call('settle', { worker, results: [{ job: id, lease, result: 'complete' }] })
    await serving.holdfast.cancelMany({ all: true }, { by: 'the test' })
  }
  await other.close()
})

test('a poll that waits for a drained lane answers with its jobs when the lane is resumed', async () => {
  const who = { by: 'ada' }
  await serving.holdfast.flow.drainLane('maintenance', who)
  const worker = await registered(['second'])
  const { id } = await serving.holdfast.enqueue(second, {})
  const poll = call('claim', { worker, wait: '25s' })
  await eventually(async () => (await serving.sql.query('select from holdfast.idle_workers')).rowCount === 1)
  await serving.holdfast.flow.resumeLane('maintenance', who)
  const [job] = (await poll).jobs
  expect(job).toMatchObject({ id })
  expect((await call('settle', { worker, results: [{ job: id, lease: job.lease, result: 'complete' }] })).results).toMatchObject([
    { status: 'completed', due_in_ms: null },
  ])
})
