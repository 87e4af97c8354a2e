import { rmSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { by, startWorkers } from '../support/flow.js'
import { runProgram } from '../support/processes.js'
import { makeQueue, type Queue } from '../support/queue.js'

const call = defineType({ type: 'call' })
const retryAtOnce = { base: 1, cap: 1, jitter: 0 }
/** Retried a moment later, so that a failure gives the next probe something to do. */
const types = [{ type: 'call', maxAttempts: 20, backoff: retryAtOnce, limits: {} }]

async function broken(probe: string, workers = 2, worker: object = {}): Promise<Queue> {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([call])
  await queue.holdfast.flow.limit('call', { breaker: { probe } }, { by: 'ada' })
  queue.ledger.open('down')
  await startWorkers(queue, workers, { types, worker })
  return queue
}

/** Fails while the file `down` is there. */
const calls = (queue: Queue, count: number, more: object = {}) =>
  queue.holdfast.enqueueMany(
    Array.from({ length: count }, () => call.job({ failWhile: queue.ledger.beside('down'), ...more }, { maxAttempts: 20 })),
  )
const gateOf = (queue: Queue) => queue.holdfast.flow.gate('call')
const isOpen = async (queue: Queue) => (await gateOf(queue))?.breaker.open === true
const open = (queue: Queue) => eventually(() => isOpen(queue))

async function completed(queue: Queue, count: number): Promise<void> {
  const done = "select count(*)::int as n from holdfast.jobs where status = 'completed'"
  await eventually(async () => (await queue.sql(done))[0]?.n === count, { every: 50 })
}

async function ended(queue: Queue, count: number): Promise<void> {
  await eventually(async () => (await queue.sql('select count(*)::int as n from holdfast.history'))[0]?.n === count, {
    every: 50,
  })
}

test('it opens when more than 80 % of at least ten attempts have failed, and not before', async () => {
  const queue = await broken('1h')
  const once = (count: number, payload: object) =>
    queue.holdfast.enqueueMany(Array.from({ length: count }, () => call.job(payload, { maxAttempts: 1 })))
  await once(9, { failUntil: 20 })
  await ended(queue, 9)
  expect(await isOpen(queue)).toBe(false)
  // Nine of twelve are 75 %, sixteen of twenty 80 %: still not more.
  await once(3, {})
  await ended(queue, 12)
  await once(1, {})
  await ended(queue, 13)
  for (const [failed, all] of [
    [16, 20],
    [17, 21],
  ] as const) {
    const before = (await queue.sql("select count(*)::int as n from holdfast.history where outcome = 'failed'"))[0]?.n
    await once(failed - before, { failUntil: 20 })
    await ended(queue, all)
    // Whoever wrote the last of them has judged in the same transaction.
    expect(await isOpen(queue), `${failed} of ${all}`).toBe(failed === 17)
  }
  const id = (await once(1, {}))[0]?.id as string
  expect(await gateOf(queue)).toMatchObject({ breaker: { reason: '17 of 21 attempts failed', heldBy: 'nobody' } })
  const probeAt = (await gateOf(queue))?.breaker.nextProbeAt as Date
  expect(probeAt.getTime() - Date.now()).toBeGreaterThan(3_000_000)
  const gate = (await queue.holdfast.explain(id))?.gates[0]
  expect(gate).toMatchObject({ gate: 'breaker', why: 'the breaker of call is open: 17 of 21 attempts failed' })
  expect(gate?.opensInMs ?? 0).toBeGreaterThan(3_000_000)
})

test('while it is open jobs wait unharmed, one probe an interval goes through in the whole fleet, and only a success closes it', async () => {
  const queue = await broken('1s', 3, { concurrency: 2 })
  await calls(queue, 100, { ms: 20 })
  await open(queue)
  const openedAt = Number((await gateOf(queue))?.breaker.openedAt)
  // Those that were running or on their way when it opened.
  await eventually(async () => (await queue.sql('select count(*)::int as n from holdfast.leases'))[0]?.n === 0)
  const before = queue.ledger.starts().length
  await eventually(() => queue.ledger.starts().length >= before + 3)
  const probes = queue.ledger.starts().filter(({ at }) => at > openedAt + 900)
  for (const [n, probe] of probes.entries()) if (n > 0) expect(probe.at - (probes[n - 1]?.at as number)).toBeGreaterThan(900)
  expect(await isOpen(queue)).toBe(true)
  // What is spent are the attempts that ran, and nothing else.
  const [row] = await queue.sql(`select (select count(*)::int from holdfast.history) as ran,
    (select sum(attempt - 1)::int from holdfast.jobs where status <> 'completed') as spent`)
  expect(row?.spent).toBe(row?.ran)
  expect(row?.ran).toBeLessThan(100)

  rmSync(queue.ledger.beside('down'))
  await completed(queue, 100)
  expect(await gateOf(queue)).toMatchObject({ breaker: { open: false, openedAt: null, reason: 'a probe succeeded' } })
})

test('a probe whose worker is killed is replaced, and a probe that hangs too', async () => {
  const queue = await broken('500ms', 3)
  await queue.holdfast.flow.breaker('call', 'open', by)
  const { id: deadly } = await queue.holdfast.enqueue(call, { killUntil: 1 }, { priority: 9 })
  const { id: hanging } = await queue.holdfast.enqueue(call, { hold: queue.ledger.beside('never') }, { priority: 8 })
  const { id: good } = await queue.holdfast.enqueue(call, {}, { priority: 7 })
  await eventually(() => queue.ledger.starts(deadly).length === 1)
  await eventually(() => queue.ledger.starts(hanging).length === 1)
  expect(await isOpen(queue)).toBe(true)
  await eventually(() => queue.ledger.finishes(good).length === 1)
  await eventually(async () => !(await isOpen(queue)))
  queue.ledger.open('never')
  await completed(queue, 3)
})

test('a type that kills its workers opens its breaker though nobody reports a failure', async () => {
  const queue = await makeQueue()
  await queue.holdfast.registerTypes([call])
  await queue.holdfast.flow.limit('call', { breaker: { probe: '1h', minimum: 2 } }, { by: 'ada' })
  const deadly = Array.from({ length: 2 }, () => call.job({ killUntil: 20 }, { maxAttempts: 20 }))
  await queue.holdfast.enqueueMany(deadly)
  for (let n = 0; n < 2; n++) {
    const settings = { database: queue.url, ledger: queue.ledger.path, types, worker: { concurrency: 1 } }
    await runProgram('worker-program', settings).exited
  }
  await queue.worker({ upkeepOnly: true }, { types: [] })
  await open(queue)
  expect((await gateOf(queue))?.breaker.reason).toMatch(/^\d of \d attempts failed$/)
})

test('a probe is taken when somebody can run it, however long that takes, and then it is one', async () => {
  const queue = await broken('1h', 1)
  await queue.holdfast.flow.drainLane('default', by)
  await queue.holdfast.flow.breaker('call', 'open', by)
  await calls(queue, 20)
  await queue.sql('update holdfast.gates set breaker_probe_at = holdfast.now()')
  expect(await queue.sql('select from holdfast.queue where pass = 2 or lease_id is not null')).toEqual([])
  await queue.holdfast.flow.resumeLane('default', by)
  await eventually(() => queue.ledger.starts().length === 1)
  expect((await gateOf(queue))?.breaker.nextProbeAt?.getTime()).toBeGreaterThan(Date.now() + 3_000_000)
})

test('operators open it, hold it open, hold it closed, release and close it, and who did is told', async () => {
  const queue = await broken('100ms', 1)
  await queue.holdfast.flow.breaker('call', 'hold_open', { by: 'ada', why: 'they asked us' })
  const id = (await calls(queue, 1))[0]?.id as string
  expect(await gateOf(queue)).toMatchObject({
    breaker: { open: true, heldBy: 'operator', reason: 'held open by ada: they asked us' },
  })
  const why = (await queue.holdfast.explain(id))?.gates[0]?.why
  expect(why).toContain('held open by ada')
  const { id: other } = await queue.holdfast.enqueue('call', {})
  await queue.holdfast.flow.breaker('call', 'hold_closed', { by: 'ada' })
  await eventually(() => queue.ledger.finishes(other).length === 1)
  // Held closed, it does not open however many fail.
  await eventually(() => queue.ledger.starts(id).length > 12)
  expect(await isOpen(queue)).toBe(false)
  await queue.holdfast.flow.breaker('call', 'release', { by: 'ada' })
  await open(queue)
  await queue.holdfast.flow.breaker('call', 'close', { by: 'bob' })
  expect(await gateOf(queue)).toMatchObject({ breaker: { open: false, heldBy: 'nobody', reason: 'closed by bob' } })
})
