import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { killAndNote, mostAtOnce, startTogether, startWorkers } from '../support/flow.js'
import type { Execution } from '../support/ledger.js'
import { makeQueue, type Queue, work } from '../support/queue.js'

/**
 * What is promised: no two attempts hold one slot, in the database's judgement. A process that was killed runs nothing. A
 * process that was frozen beyond its lease may wake up and go on until it hears that its lease is lost; its fence is smaller
 * than that of whoever has the slot by then, and nothing it reports is taken.
 */

const keys = ['a', 'b', 'c', 'd', 'e']

function enqueueKeyed(queue: Queue, count: number, payload: (key: string) => object) {
  return queue.holdfast.enqueueMany(
    Array.from({ length: count }, (_, n) => {
      const key = keys[n % keys.length] as string
      return work.job({ ...payload(key), key }, { concurrencyKey: key, maxAttempts: 20 })
    }),
  )
}

async function completed(queue: Queue, count: number, within = 30_000): Promise<void> {
  await eventually(
    async () => {
      const [row] = await queue.sql("select count(*)::int as n from holdfast.jobs where status = 'completed'")
      if (row?.n !== count) throw new Error(`${row?.n} of ${count} jobs are completed`)
      return true
    },
    { within, every: 100 },
  )
}

/** By the database's clock: the lease of the one that was lost was over when this one started. */
async function startedAfterTheLostLease(queue: Queue, next: Execution | undefined): Promise<void> {
  const lost = "select max(ended_at) from holdfast.history where outcome = 'lease_expired'"
  const after = `select started_at >= (${lost}) as after from holdfast.history where job_id = $1 and attempt = $2`
  expect(await queue.sql(after, [next?.job, next?.attempt])).toEqual([{ after: true }])
}

/** Between the end of one handler and the start of the next, under a limit of one with jobs waiting. */
function idleMs(entries: readonly Execution[]): number[] {
  return entries.flatMap((entry, n) => {
    const before = entries[n - 1]
    return entry.kind === 'start' && before?.kind === 'finish' ? [entry.at - before.at] : []
  })
}

test('three processes under load, one of them killed, never run more than the limits of type and key allow, and run all', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.limit('work', { maxRunning: 3, maxRunningPerKey: 1 }, { by: 'ada' })
  const [first] = await startWorkers(queue, 3)
  // The first key takes its time, so that its turn comes again while it is still at work.
  const jobs = await enqueueKeyed(queue, 150, (key) => ({ ms: key === 'a' ? 80 : 10 }))
  await eventually(() => queue.ledger.starts().some(({ pid }) => pid === first?.pid) && queue.ledger.starts().length > 30)
  if (first) await killAndNote(queue, first)
  await queue.worker()
  await completed(queue, jobs.length)
  const entries = queue.ledger.entries()
  expect(mostAtOnce(entries)).toBe(3)
  expect(mostAtOnce(entries, ({ key }) => key ?? '')).toBe(1)
  expect(new Set(queue.ledger.finishes().map(({ job }) => job)).size).toBe(jobs.length)
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
})

test('a limit of one never overlaps across a kill, and the slot of the dead comes free with its lease', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.limit('work', { maxRunning: 1 }, { by: 'ada' })
  await startWorkers(queue, 3)
  // The first attempt of the middle one kills its process.
  const payloads = [{ ms: 10 }, { ms: 10 }, { killUntil: 1 }, { ms: 10 }, { ms: 10 }]
  const jobs = await queue.holdfast.enqueueMany(payloads.map((payload) => work.job(payload, { maxAttempts: 5 })))
  await completed(queue, jobs.length)
  const starts = queue.ledger.starts()
  const killed = starts.findIndex(({ job, attempt }) => job === jobs[2]?.id && attempt === 1)
  await startedAfterTheLostLease(queue, starts[killed + 1])
  const withoutTheKilled = queue.ledger.entries().filter((entry) => entry !== starts[killed])
  expect(mostAtOnce(withoutTheKilled.filter((entry) => !('fence' in entry && entry.fence === starts[killed]?.fence)))).toBe(1)
  const fences = starts.map(({ fence }) => BigInt(fence))
  expect(fences.every((fence, n) => n === 0 || fence > (fences[n - 1] as bigint))).toBe(true)
})

test('a frozen holder keeps the slot until its lease is over; when it wakes, its fence is old and what it reports is not taken', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.limit('work', { maxRunningPerKey: 1 }, { by: 'ada' })
  const workers = await startWorkers(queue, 2)
  const hold = queue.ledger.beside('go on')
  const options = { concurrencyKey: 'a', maxAttempts: 5 }
  const { id } = await queue.holdfast.enqueue(work, { hold, key: 'a' }, options)
  const first = await eventually(() => queue.ledger.starts(id)[0])
  const frozen = workers.find(({ pid }) => pid === first.pid)
  const { id: second } = await queue.holdfast.enqueue(work, { ms: 10, key: 'a' }, options)
  frozen?.freeze()
  const next = await eventually(() => queue.ledger.starts().find(({ pid }) => pid !== first.pid))
  expect(BigInt(next.fence)).toBeGreaterThan(BigInt(first.fence))
  queue.ledger.open('go on')
  await eventually(() => queue.ledger.finishes(second).length === 1 && queue.ledger.finishes(id).length === 1)
  frozen?.thaw()
  await frozen?.heard('settle.late', ({ job }) => job === id).catch(() => frozen.heard('lease.lost'))
  await completed(queue, 2)
  const outcomes = await queue.sql('select outcome, attempt from holdfast.history where job_id = $1 order by attempt', [id])
  expect(outcomes).toEqual([
    { outcome: 'lease_expired', attempt: 1 },
    { outcome: 'completed', attempt: 2 },
  ])
  await startedAfterTheLostLease(queue, next)
  // Without the frozen one nothing overlapped, and whatever a guard had let pass came in the order of the fences.
  const others = queue.ledger.entries().filter((entry) => !('fence' in entry && entry.fence === first.fence))
  expect(mostAtOnce(others)).toBe(1)
})

test('a free slot with a job waiting for it idles for no more than moments', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await queue.holdfast.flow.limit('work', { maxRunning: 1 }, { by: 'ada' })
  await startTogether(queue, 3)
  // Some wait from the start, and some come one by one when the fleet may just be becoming idle.
  const jobs = await enqueueKeyed(queue, 60, () => ({ ms: 5 }))
  await completed(queue, jobs.length)
  for (let n = 0; n < 10; n++) {
    const { id } = await queue.holdfast.enqueue(work, {})
    await eventually(() => queue.ledger.finishes(id).length === 1, { every: 10 })
  }
  expect(
    queue.ledger
      .starts()
      .slice(0, jobs.length)
      .map(({ job }) => job),
  ).toEqual(jobs.map(({ id }) => id))
  const idle = idleMs(
    queue.ledger
      .entries()
      .filter((entry) => 'at' in entry)
      .slice(0, 2 * jobs.length),
  )
  expect(mostAtOnce(queue.ledger.entries())).toBe(1)
  expect(idle.length).toBe(jobs.length - 1)
  expect(Math.max(...idle)).toBeLessThan(5_000)
})

test('a limit set while jobs run counts them; lowered and raised, it holds from then on', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([work])
  await startTogether(queue, 2)
  const running = () => queue.ledger.starts().length - queue.ledger.finishes().length
  await queue.holdfast.enqueueMany(Array.from({ length: 6 }, () => work.job({ hold: queue.ledger.beside('first') })))
  await eventually(() => running() === 6)
  await queue.holdfast.flow.limit('work', { maxRunning: 2 }, { by: 'ada' })
  const more = Array.from({ length: 40 }, () => work.job({ ms: 20 }))
  await queue.holdfast.enqueueMany(more)
  const { id: last } = await queue.holdfast.enqueue('work', {})
  await eventually(async () => (await queue.holdfast.explain(last))?.gates[0]?.gate === 'concurrency')
  expect(queue.ledger.starts().length).toBe(6)
  const limitedFrom = queue.ledger.entries().length
  queue.ledger.open('first')
  await completed(queue, 47)
  const since = queue.ledger.entries().slice(limitedFrom)
  expect(mostAtOnce(since)).toBe(2)

  await queue.holdfast.flow.limit('work', { maxRunning: 5 }, { by: 'ada' })
  const raisedFrom = queue.ledger.entries().length
  await queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => work.job({ hold: queue.ledger.beside('second') })))
  await eventually(() => running() === 5)
  await queue.holdfast.flow.limit('work', { maxRunning: 1 }, { by: 'ada' })
  queue.ledger.open('second')
  await completed(queue, 67)
  const raised = queue.ledger.entries().slice(raisedFrom)
  expect(mostAtOnce(raised)).toBe(5)
  const sixth = raised.findIndex((entry) => entry === raised.filter(({ kind }) => kind === 'start')[5])
  expect(raised.slice(0, sixth).filter(({ kind }) => kind === 'finish').length).toBe(5)
})
