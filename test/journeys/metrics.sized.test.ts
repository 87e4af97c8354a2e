import { insideOf } from 'holdfast/inside'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { countersOf, readMeasured, scrape } from '../support/measured.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { sized } from '../support/sized.js'

const types = [{ type: 'work', maxAttempts: 2, backoff: { base: '10ms', jitter: 0 } }, { type: 'deadly' }]

/** By name, so that what the workers registered holds. */
const work = (payload: object, options: object = {}) => ({ type: 'work', payload, ...options })

async function counters(queue: Queue, type = 'work') {
  await insideOf(queue.holdfast).store.operate.measureDepths()
  return countersOf(readMeasured(await scrape(queue.holdfast)), type)
}

/** The same from what was written down of each attempt, which /metrics must never read. */
async function fromHistory(queue: Queue, type = 'work') {
  const outcomes = await queue.sql(
    `select h.outcome::text, count(*)::int as n from holdfast.history as h join holdfast.bodies as b on b.id = h.job_id
     join holdfast.types as t on t.id = b.type_id where t.name = $1 group by 1`,
    [type],
  )
  const of = (outcome: string) => outcomes.find((row) => row.outcome === outcome)?.n ?? 0
  const [row] = await queue.sql(
    `select (select count(*)::int from holdfast.bodies as b where b.type_id = t.id) as enqueued,
            (select count(*)::int from holdfast.dead_letters as d where d.type_id = t.id) as dead
     from holdfast.types as t where t.name = $1`,
    [type],
  )
  return {
    enqueued: row?.enqueued,
    dead: row?.dead,
    completed: of('completed'),
    failed: of('failed'),
    cancelled: of('cancelled'),
    rescued: of('lease_expired'),
  }
}

/** Nobody else loses a lease, however busy the machine is. */
const patient = { lease: '15s' }

async function stop(worker: { signal(signal: 'SIGTERM'): void; exited: Promise<unknown> }) {
  worker.signal('SIGTERM')
  await worker.exited
}

/** As if the time had come in which the breaker needs no detail any more. */
const makeOld = (queue: Queue) => queue.sql(`update holdfast.attempt_counts set at = at - interval '1 hour'`)
const anyAlive = 'select from holdfast.queue union all select from holdfast.waiting'

test('what several workers ran, failed, lost and were told to drop is counted exactly, and stays so when it is added up', async () => {
  const queue = await makeQueue()
  const { holdfast, ledger } = queue
  const workers = await Promise.all([1, 2].map(() => queue.worker({ concurrency: 5, ...patient }, { types: types.slice(0, 1) })))
  await holdfast.enqueueMany([
    ...Array.from({ length: 200 }, () => work({})),
    ...Array.from({ length: 20 }, () => work({ failUntil: 1 })),
    ...Array.from({ length: 7 }, () => work({ failUntil: 2 })),
    ...Array.from({ length: 5 }, () => work({ fatal: 'never' })),
  ])
  const later = await holdfast.enqueueMany(Array.from({ length: 9 }, () => work({}, { delay: '1h' })))
  for (const { id } of later.slice(0, 4)) await holdfast.cancel(id, { by: 'ada' })
  await eventually(async () => (await queue.sql(anyAlive)).length === 5)
  // A dead letter that is replayed lives again; its job was enqueued once.
  const [dead] = await queue.sql(`select job_id from holdfast.dead_letters where reason = 'fatal' limit 1`)
  await holdfast.deadLetters.replay(dead?.job_id, { by: 'ada' })
  await eventually(async () => (await queue.sql('select from holdfast.dead_letters')).length === 12)

  // A worker that goes down with its job, and one that comes back when its lease is gone.
  for (const worker of workers) await stop(worker)
  const zombie = await queue.worker({ name: 'zombie', concurrency: 2 }, { types: [{ type: 'deadly' }] })
  const held = await holdfast.enqueueMany([1, 2].map(() => ({ type: 'deadly', payload: { hold: ledger.beside('go') } })))
  for (const { id } of held) await eventually(() => ledger.starts(id).length >= 1)
  zombie.freeze()
  const next = await queue.worker(patient, { types })
  for (const { id } of held) await eventually(() => ledger.starts(id).length >= 2, { within: 60_000 })
  zombie.thaw()
  ledger.open('go')
  for (const { id } of held) await zombie.heard('settle.late', ({ job }) => job === id)
  await stop(zombie)
  await holdfast.enqueue('deadly', { killUntil: 1 })
  await next.exited
  const last = await queue.worker(patient, { types })
  await eventually(async () => (await queue.sql(anyAlive)).length === 5, { within: 60_000 })
  await stop(last)

  const expected = { ...(await fromHistory(queue)), late: 0 }
  expect(expected).toEqual({ enqueued: 241, completed: 220, failed: 20 + 14 + 6, dead: 12, cancelled: 4, rescued: 0, late: 0 })
  // The replayed one died twice.
  const counted = { ...expected, dead: 13, measured: 260 }
  await eventually(async () => expect(await counters(queue)).toEqual(counted) ?? true)
  const late = zombie.said.filter(({ event }) => event === 'settle.late').length
  const deadly = { ...(await fromHistory(queue, 'deadly')), late }
  expect(deadly).toMatchObject({ enqueued: 3, completed: 3 })
  expect(deadly.rescued).toBeGreaterThanOrEqual(3)
  expect(await counters(queue, 'deadly')).toMatchObject(deadly)

  await makeOld(queue)
  await Promise.all([1, 2, 3, 4].map(() => insideOf(holdfast).store.metrics.keepTotals()))
  await eventually(async () => {
    await insideOf(holdfast).store.metrics.keepTotals()
    return (await queue.sql('select from holdfast.attempt_counts union all select from holdfast.event_counts')).length === 0
  })
  expect(await counters(queue)).toEqual(counted)
  expect(await counters(queue, 'deadly')).toMatchObject(deadly)
}, 180_000)

const rounds = sized({ sample: 6, whole: 30 })

test('no counter ever goes back, whatever is being added up and whoever is killed meanwhile', async () => {
  const queue = await makeQueue()
  const { metrics } = insideOf(queue.holdfast).store
  let worker = await queue.worker({ concurrency: 10 }, { types })
  let before: Record<string, number> = {}
  const fallen: string[] = []
  for (let round = 0; round < rounds; round++) {
    await queue.holdfast.enqueueMany(Array.from({ length: 40 }, (_, n) => work({ failUntil: n % 5 === 0 ? 1 : 0, ms: 5 })))
    const [now] = await Promise.all([counters(queue), metrics.keepTotals(), makeOld(queue).catch(() => {})])
    for (const [name, value] of Object.entries(before))
      if ((now[name] ?? 0) < value) fallen.push(`${name}: ${value} → ${now[name]}`)
    before = now
    if (round % (rounds / 3) === 1) {
      await worker.kill()
      worker = await queue.worker({ concurrency: 10 }, { types })
    }
  }
  await eventually(async () => (await queue.sql(anyAlive)).length === 0, { within: 90_000 })
  expect(fallen).toEqual([])
  const expected = await fromHistory(queue)
  expect(expected).toMatchObject({ enqueued: rounds * 40 })
  await eventually(async () => expect(await counters(queue)).toMatchObject(expected) ?? true)
}, 180_000)

test('a worker adds up and notes by itself what it measured', async () => {
  const queue = await makeQueue()
  await queue.worker({}, { types })
  await queue.holdfast.enqueueMany([work({}), work({ fatal: 'never' })])
  await eventually(
    async () => {
      const measured = readMeasured(await scrape(queue.holdfast))
      expect(countersOf(measured, 'work')).toMatchObject({ enqueued: 2, completed: 1, failed: 1, dead: 1, measured: 2 })
      expect(measured.get('holdfast_dlq_depth{type="work"}')).toBe(1)
      return true
    },
    // Each look makes a server.
    { within: 60_000, every: 1_000 },
  )
}, 90_000)
