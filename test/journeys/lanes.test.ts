import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { by, killAndNote, mostAtOnce, startTogether, startWorkers } from '../support/flow.js'
import { type Program, runProgram } from '../support/processes.js'
import { makeQueue, type Queue } from '../support/queue.js'

const mail = defineType({ type: 'mail' })
const report = defineType({ type: 'report', lane: 'bulk' })
const types = [{ type: 'mail' }, { type: 'report', lane: 'bulk' }]

/** Two types, one of them in a lane of its own. */
async function twoLanes(fields: object = {}): Promise<Queue> {
  const queue = await makeQueue()
  await queue.holdfast.flow.setLane('bulk', fields, by, { create: true, unsafe: true })
  await queue.holdfast.registerTypes([mail, report])
  return queue
}

const running = ({ ledger }: Queue) => ledger.starts().length - ledger.finishes().length

async function done(queue: Queue, ids: readonly string[]): Promise<void> {
  await eventually(() => ids.every((id) => queue.ledger.finishes(id).length > 0), { every: 50 })
}

async function ids(jobs: Promise<{ id: string }[]>): Promise<string[]> {
  return (await jobs).map(({ id }) => id)
}

test('neither a full nor a drained lane delays another', async () => {
  const queue = await twoLanes({ slots: 2 })
  await startTogether(queue, 2, { types, worker: { concurrency: 4 } })
  const held = await ids(
    queue.holdfast.enqueueMany(Array.from({ length: 50 }, () => report.job({ hold: queue.ledger.beside('go') }))),
  )
  await eventually(() => running(queue) === 2)
  await done(queue, await ids(queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => mail.job({})))))
  expect(queue.ledger.starts().filter(({ type }) => type === 'report').length).toBe(2)

  await queue.holdfast.flow.drainLane('bulk', by)
  queue.ledger.open('go')
  await eventually(() => running(queue) === 0)
  await done(queue, await ids(queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => mail.job({})))))
  expect(queue.ledger.starts().filter(({ type }) => type === 'report').length).toBe(2)
  await queue.holdfast.flow.resumeLane('bulk', by)
  await done(queue, held)
})

test('three processes never run more of a lane than its slots, across a kill, and a change of the slots holds at once', async () => {
  const queue = await twoLanes({ slots: 3 })
  const [first] = await startWorkers(queue, 3, { types })
  const jobs = await ids(queue.holdfast.enqueueMany(Array.from({ length: 90 }, () => report.job({ ms: 25 }))))
  await eventually(() => queue.ledger.starts().some(({ pid }) => pid === first?.pid) && queue.ledger.starts().length > 20)
  if (first) await killAndNote(queue, first)
  await done(queue, jobs)
  expect(mostAtOnce(queue.ledger.entries())).toBe(3)

  // What runs in a lane without a limit counts from the moment it gets one.
  await queue.holdfast.flow.setLane('bulk', { slots: null }, by)
  await queue.holdfast.enqueueMany(Array.from({ length: 8 }, () => report.job({ hold: queue.ledger.beside('go') })))
  await eventually(() => running(queue) >= 8)
  await queue.holdfast.flow.setLane('bulk', { slots: 1 }, by)
  const from = queue.ledger.entries().length
  const after = await ids(queue.holdfast.enqueueMany(Array.from({ length: 10 }, () => report.job({ ms: 20 }))))
  await eventually(async () => (await queue.holdfast.explain(after[0] as string))?.gates[0]?.gate === 'lane_full')
  expect(queue.ledger.entries().length).toBe(from)
  queue.ledger.open('go')
  await done(queue, after)
  expect(mostAtOnce(queue.ledger.entries().slice(from))).toBe(1)
})

test('slots of one worker, the lease and whether a lane is open change in running processes within one look', async () => {
  const queue = await twoLanes({ workerSlots: 1 })
  await startWorkers(queue, 2, { types })
  await queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => report.job({ hold: queue.ledger.beside('go') })))
  await eventually(() => running(queue) === 2)
  await queue.holdfast.flow.setLane('bulk', { workerSlots: 3, lease: '90s' }, by)
  // A look comes every two seconds at the latest; the rest is for a busy machine.
  await eventually(() => running(queue) === 6, { within: 20_000 })
  expect(mostAtOnce(queue.ledger.entries(), ({ pid }) => String(pid))).toBe(3)
  const leases = await queue.sql(
    'select extract(epoch from expires_at - holdfast.now()) as left from holdfast.leases order by id',
  )
  expect(leases.filter(({ left }) => Number(left) > 30).length).toBeGreaterThan(0)

  await queue.holdfast.flow.drainLane('bulk', by)
  queue.ledger.open('go')
  await eventually(() => running(queue) === 0)
  const started = queue.ledger.starts().length
  expect(started).toBe(6)
  await queue.holdfast.flow.resumeLane('bulk', by)
  await eventually(() => queue.ledger.finishes().length === 20)
})

test('a type that changes its lane takes every job along, also those of transactions open at that moment', async () => {
  const queue = await twoLanes()
  await queue.holdfast.flow.drainLane('bulk', by)
  const waiting = await ids(queue.holdfast.enqueueMany(Array.from({ length: 300 }, () => report.job({}))))
  const tx = await queue.connect()
  await tx.query('begin')
  const { id: late } = await queue.holdfast.enqueue(report, {}, { tx })
  await startTogether(queue, 2, { types })
  await queue.holdfast.flow.setLane('faster', {}, by, { create: true })
  expect(await queue.holdfast.flow.moveType('report', 'faster', { by: 'ada' })).toBe(300)
  await done(queue, waiting)
  await tx.query('commit')
  // It stands in the lane its type has left, which is open again and empty but for it.
  await queue.holdfast.flow.resumeLane('bulk', by)
  await done(queue, [late])
  expect((await queue.holdfast.flow.lanes()).find(({ name }) => name === 'faster')?.types).toEqual(['report'])
})

test('a job committed late into a drained lane that its type has left is brought after it', async () => {
  const queue = await twoLanes()
  const tx = await queue.connect()
  await tx.query('begin')
  const { id: late } = await queue.holdfast.enqueue(report, {}, { tx })
  await queue.holdfast.flow.moveType('report', 'default', { by: 'ada' })
  await queue.holdfast.flow.drainLane('bulk', by)
  await tx.query('commit')
  await startWorkers(queue, 1, { types })
  await done(queue, [late])
})

test('jobs handed back or rescued after their type has changed its lane are found in the new one', async () => {
  const queue = await twoLanes()
  const [killed] = (await startWorkers(queue, 1, { types })) as [Program]
  const holding = { hold: queue.ledger.beside('never'), holdFrom: 1 }
  const { id: rescued } = await queue.holdfast.enqueue(report, holding)
  await eventually(() => queue.ledger.starts(rescued).length === 1)
  const [stopped] = (await startWorkers(queue, 1, { types, worker: { drain: '0s' } })) as [Program]
  await killed.freeze()
  const { id: handedBack } = await queue.holdfast.enqueue(report, holding)
  await eventually(() => queue.ledger.starts(handedBack).length === 1)
  await queue.holdfast.flow.moveType('report', 'default', { by: 'ada' })
  await queue.holdfast.flow.drainLane('bulk', by)
  await killAndNote(queue, killed)
  stopped.signal('SIGTERM')
  await stopped.exited
  queue.ledger.open('never')
  // The definition is the old one; where an operator has put the type counts for more.
  await startWorkers(queue, 1, { types })
  await done(queue, [rescued, handedBack])
  expect((await queue.holdfast.flow.lanes()).find(({ name }) => name === 'default')?.types).toContain('report')
})

test('a definition that names another lane takes the waiting jobs along', async () => {
  const queue = await twoLanes()
  const waiting = await ids(queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => report.job({}))))
  await startWorkers(queue, 1, { types: [{ type: 'report', lane: 'default' }] })
  await done(queue, waiting)
})

test('lanes can be set by environment variables, and a variable that makes no sense is refused by its name', async () => {
  const queue = await twoLanes()
  const start = (env: Record<string, string>) => {
    const settings = { database: queue.url, ledger: queue.ledger.path, types, worker: {} }
    return runProgram('worker-program', settings, { env })
  }
  const worker = start({
    HOLDFAST_LANE_BULK_SLOTS: '4',
    HOLDFAST_LANE_BULK_WORKER_SLOTS: '2',
    HOLDFAST_LANE_NIGHT_ENABLED: 'false',
  })
  await worker.heard('ready')
  const lanes = await queue.holdfast.flow.lanes()
  expect(lanes.find(({ name }) => name === 'bulk')).toMatchObject({
    slots: 4,
    workerSlots: 2,
    changed: { by: 'the environment' },
  })
  expect(lanes.find(({ name }) => name === 'night')).toMatchObject({ enabled: false })
  await queue.holdfast.enqueueMany(Array.from({ length: 9 }, () => report.job({ hold: queue.ledger.beside('go') })))
  await eventually(() => running(queue) === 2)
  const wrong = start({ HOLDFAST_LANE_BULK_SLOTS: 'many' })
  expect((await wrong.exited).code).not.toBe(0)
  expect(wrong.complaints()).toContain('HOLDFAST_LANE_BULK_SLOTS is many')
})
