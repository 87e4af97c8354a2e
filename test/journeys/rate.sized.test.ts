import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { killAndNote, mostWithin, startTogether, startWorkers } from '../support/flow.js'
import { makeQueue, type Queue, work } from '../support/queue.js'
import { sized } from '../support/sized.js'

/**
 * A start is the moment a worker takes a job, by the clock of the database. It is written down here by a trigger, so that
 * what the gates believe is not asked. The handler begins a moment later.
 */
async function watchStarts(queue: Queue): Promise<() => Promise<{ key: string; at: number }[]>> {
  await queue.sql('create table public.seen (job_id uuid not null, at timestamptz not null)')
  await queue.sql(`create function public.see() returns trigger language plpgsql as $$
    begin
      insert into public.seen select j.id, clock_timestamp() from unnest(new.jobs) as j (id);
      return null;
    end $$`)
  await queue.sql('create trigger see after insert on holdfast.leases for each row execute function public.see()')
  return async () => {
    const rows = await queue.sql(`select coalesce(b.concurrency_key, '') as key, extract(epoch from s.at) * 1000 as at
      from public.seen as s join holdfast.bodies as b on b.id = s.job_id order by s.at`)
    return rows.map(({ key, at }) => ({ key, at: Number(at) }))
  }
}

const processes = sized({ sample: 2, whole: 3 })

async function limited(limits: object): Promise<Queue> {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.limit('work', limits, { by: 'ada' })
  return queue
}

async function completed(queue: Queue, count: number): Promise<void> {
  const done = "select count(*)::int as n from holdfast.jobs where status = 'completed'"
  await eventually(async () => (await queue.sql(done))[0]?.n === count, { every: 50 })
}

test('in no stretch of time do several processes start more jobs of a type than its rate, across a crash and a restart', async () => {
  const queue = await limited({ rate: { count: 10, per: '1s' } })
  const starts = await watchStarts(queue)
  const [first] = await startWorkers(queue, processes)
  const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 60 }, () => work.job({}, { maxAttempts: 20 })))
  await eventually(() => queue.ledger.starts().length >= 25)
  if (first) await killAndNote(queue, first)
  await queue.worker()
  await completed(queue, jobs.length)
  const times = (await starts()).map(({ at }) => at)
  expect(mostWithin(times, 1_000)).toBe(10)
  // No slower than it has to be: sixty at ten a second are five seconds after the first ten, give or take a look.
  expect((times.at(-1) as number) - (times[0] as number)).toBeLessThan(15_000)
  // The handlers begin so soon after it that one clock of the machine sees the same, but for that moment.
  const begun = queue.ledger.starts().map(({ at }) => at)
  expect(mostWithin(begun, 700)).toBeLessThanOrEqual(10)
})

test('a rate per key holds for each of them, and a key at its rate does not slow another down', async () => {
  const queue = await limited({ ratePerKey: { count: 3, per: '1s' } })
  const starts = await watchStarts(queue)
  await startWorkers(queue, processes)
  const keyed = (key: string, count: number) => Array.from({ length: count }, () => work.job({ key }, { concurrencyKey: key }))
  // Bursts on both sides of where a calendar window would end.
  await queue.holdfast.enqueueMany([...keyed('a', 12), ...keyed('b', 3)])
  await eventually(() => queue.ledger.finishes().filter(({ key }) => key === 'b').length === 3)
  expect(queue.ledger.starts().filter(({ key }) => key === 'a').length).toBeLessThan(12)
  await queue.holdfast.enqueueMany(keyed('b', 6))
  await completed(queue, 21)
  const seen = await starts()
  for (const key of ['a', 'b']) {
    const times = seen.filter((start) => start.key === key).map(({ at }) => at)
    expect(mostWithin(times, 1_000), key).toBe(3)
  }
})

test('a rate that is set while hundreds of jobs stand in line holds from then on', async () => {
  const queue = await limited({ fair: true })
  await queue.holdfast.enqueueMany(Array.from({ length: 300 }, () => work.job({})))
  await queue.holdfast.flow.limit('work', { rate: { count: 5, per: '1s' } }, { by: 'ada' })
  const starts = await watchStarts(queue)
  await startTogether(queue, 2)
  await eventually(() => queue.ledger.starts().length >= 15)
  expect(
    mostWithin(
      (await starts()).map(({ at }) => at),
      1_000,
    ),
  ).toBe(5)
})

/** What workers had taken has ended or gone back. */
async function nothingRuns(queue: Queue): Promise<void> {
  await eventually(async () => (await queue.sql('select from holdfast.leases')).length === 0)
}

for (const what of ['type', 'key'] as const) {
  test(`a handler that asks to stop its ${what} stops it in every process, without spending an attempt`, async () => {
    const queue = await limited({ maxRunning: 20, fair: true })
    await startWorkers(queue, processes, { worker: { concurrency: 2 } })
    const stop = { for: '3s', what, once: queue.ledger.beside('asked') }
    const { id } = await queue.holdfast.enqueue(work, { key: 'a', stop }, { concurrencyKey: 'a', priority: 9 })
    await eventually(() => queue.ledger.finishes(id).length === 1)
    const gate = await eventually(async () => {
      const { id: next } = await queue.holdfast.enqueue(work, { key: 'a' }, { concurrencyKey: 'a' })
      return (await queue.holdfast.explain(next))?.gates.find(({ gate }) => gate === `${what}_stopped`)
    })
    expect(gate.opensInMs).toBeGreaterThan(0)
    await nothingRuns(queue)
    const quietFrom = queue.ledger.starts().length
    const stoppedAt = (queue.ledger.finishes(id)[0] as { at: number }).at
    await queue.holdfast.enqueueMany(
      ['a', 'b'].flatMap((key) => Array.from({ length: 10 }, () => work.job({ key }, { concurrencyKey: key }))),
    )
    await completed(queue, (await queue.sql('select count(*)::int as n from holdfast.bodies'))[0]?.n)
    const since = queue.ledger.starts().slice(quietFrom)
    const [a, b] = ['a', 'b'].map((key) => Math.min(...since.filter((start) => start.key === key).map(({ at }) => at)))
    expect((a as number) - stoppedAt).toBeGreaterThan(2_500)
    if (what === 'type') expect((b as number) - stoppedAt).toBeGreaterThan(2_500)
    else expect(b).toBeLessThan(a as number)
    const story = await queue.sql('select outcome, attempt from holdfast.history where job_id = $1 order by ended_at', [id])
    expect(story).toEqual([
      { outcome: 'snoozed', attempt: 1 },
      { outcome: 'completed', attempt: 1 },
    ])
  })
}

test('stopping a key keeps back those of its jobs that do not run yet', async () => {
  const queue = await limited({ fair: true })
  await startWorkers(queue, 1, { worker: { concurrency: 1 } })
  const stop = { for: '1h', what: 'key', once: queue.ledger.beside('asked') }
  const others = Array.from({ length: 100 }, () => work.job({ ms: 50 }, { concurrencyKey: 'a' }))
  await queue.holdfast.enqueueMany([work.job({ stop }, { concurrencyKey: 'a', priority: 9 }), ...others])
  // The stop holds from when the result is written that asked for it.
  await eventually(async () => (await queue.sql('select from holdfast.keys where rests_until is not null')).length === 1)
  await nothingRuns(queue)
  const before = queue.ledger.starts().length
  expect(before).toBeLessThan(101)
  const { id } = await queue.holdfast.enqueue(work, {}, { concurrencyKey: 'b' })
  await eventually(() => queue.ledger.finishes(id).length === 1)
  expect(queue.ledger.starts().length).toBe(before + 1)
})
