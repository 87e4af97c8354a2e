import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startOwnServer } from '../support/own-server.js'
import { makeQueue, type Queue, work } from '../support/queue.js'
import { longTest, sized } from '../support/sized.js'

/** For a machine that is busy with other suites. */
const slackMs = 8_000

async function completed({ holdfast }: Queue, id: string) {
  return eventually(
    async () => {
      const story = await holdfast.job(id)
      return story?.status === 'completed' && story
    },
    { within: 60_000 },
  )
}

test.each(sized({ sample: ['SIGTERM'], whole: ['SIGTERM', 'SIGINT'] } as const))(
  'an idle worker told to stop by %s is gone within 2 s, in good order',
  async (signal) => {
    const queue = await makeQueue()
    const worker = await queue.worker({ lease: '60s' })
    const toldAt = performance.now()
    worker.signal(signal)
    expect(await worker.exited).toEqual({ code: 0, signal: null })
    expect(performance.now() - toldAt).toBeLessThan(2_000 + slackMs)
    expect(await queue.sql('select from holdfast.workers where stopped_at is null')).toEqual([])
    expect(await queue.sql('select from holdfast.idle_workers')).toEqual([])
  },
)

test('20 jobs that end within the drain time are completed, and none is tried twice', async () => {
  const queue = await makeQueue()
  const worker = await queue.worker({ concurrency: 20, drain: '60s' })
  const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => work.job({ hold: queue.ledger.beside('go') })))
  await eventually(() => queue.ledger.starts().length === 20)
  worker.signal('SIGTERM')
  await worker.heard('told to stop')
  const late = await queue.holdfast.enqueue(work, {})
  queue.ledger.open('go')
  expect(await worker.exited).toEqual({ code: 0, signal: null })
  for (const { id } of jobs) expect(await queue.holdfast.job(id)).toMatchObject({ status: 'completed', attempt: 1 })
  expect(queue.ledger.starts()).toHaveLength(20)
  expect(await queue.sql('select from holdfast.history')).toHaveLength(20)
  expect(await queue.holdfast.job(late.id)).toMatchObject({ status: 'pending', attempt: 1 })
  expect(await queue.sql('select from holdfast.leases')).toEqual([])
})

test('a job longer than the drain time is handed back at exit, starts elsewhere at once, and no attempt is spent', async () => {
  const queue = await makeQueue()
  const leaving = await queue.worker({ name: 'leaving', drain: '500ms', lease: '60s' })
  const { id } = await queue.holdfast.enqueue(work, { hold: queue.ledger.beside('go'), heed: true }, { maxAttempts: 1 })
  await eventually(() => queue.ledger.starts(id).length === 1)
  const staying = await queue.worker({ name: 'staying', lease: '60s' })
  leaving.signal('SIGTERM')
  expect(await leaving.exited).toEqual({ code: 0, signal: null })
  await eventually(() => queue.ledger.starts(id).length === 2)
  queue.ledger.open('go')
  const { attempts } = await completed(queue, id)
  expect(attempts).toMatchObject([
    { attempt: 1, outcome: 'handed_back', worker: 'leaving' },
    { attempt: 1, outcome: 'completed', worker: 'staying' },
  ])
  // Not after the lease of 60 s, and not after the poll of 2 s either.
  const gapMs = (attempts[1]?.startedAt?.getTime() ?? 0) - (attempts[0]?.endedAt.getTime() ?? 0)
  expect(gapMs).toBeLessThan(1_000 + slackMs)
  expect(queue.ledger.entries()).toContainEqual(
    expect.objectContaining({ kind: 'aborted', reason: 'ShutdownError', pid: leaving.pid }),
  )
  expect(staying.gone()).toBe(false)
})

test('a job that lasts four leases within the drain time keeps its lease and runs once', async () => {
  const queue = await makeQueue()
  const leaving = await queue.worker({ drain: '60s' })
  const { id } = await queue.holdfast.enqueue(work, { ms: 8_500 })
  await eventually(() => queue.ledger.starts(id).length === 1)
  leaving.signal('SIGTERM')
  const staying = await queue.worker()
  expect(await leaving.exited).toEqual({ code: 0, signal: null })
  expect((await completed(queue, id)).attempts).toMatchObject([{ attempt: 1, outcome: 'completed' }])
  expect(queue.ledger.starts(id)).toHaveLength(1)
  expect(staying.said.filter(({ event }) => event === 'lease.rescued')).toEqual([])
}, 60_000)

test('prefetched jobs that were not begun go back without a trace', async () => {
  const queue = await makeQueue()
  const leaving = await queue.worker({ concurrency: 1, drain: 0 })
  // Quick ones first, so that the worker learns to prefetch.
  await queue.holdfast.enqueueMany(Array.from({ length: 50 }, () => work.job({}, { priority: 9 })))
  const held = await queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => work.job({ hold: queue.ledger.beside('go') })))
  await eventually(() => queue.ledger.starts().length === 51)
  leaving.signal('SIGTERM')
  expect(await leaving.exited).toEqual({ code: 0, signal: null })
  const rows = await queue.sql('select count(*)::int as free, max(attempt) as attempt from holdfast.queue where lease_id is null')
  expect(rows).toEqual([{ free: held.length, attempt: 1 }])
  expect(await queue.sql("select from holdfast.history where outcome = 'handed_back'")).toHaveLength(1)
})

test('a second signal ends the process at once; its job is recovered by its lease', async () => {
  const queue = await makeQueue()
  const stubborn = await queue.worker({ drain: '10m' })
  const { id } = await queue.holdfast.enqueue(work, { hold: queue.ledger.beside('go') })
  await eventually(() => queue.ledger.starts(id).length === 1)
  stubborn.signal('SIGTERM')
  await stubborn.heard('told to stop')
  stubborn.signal('SIGTERM')
  expect(await stubborn.exited).toEqual({ code: 1, signal: null })
  queue.ledger.open('go')
  await queue.worker()
  expect((await completed(queue, id)).attempts.map(({ outcome }) => outcome)).toEqual(['lease_expired', 'completed'])
}, 60_000)

// In npm test silence.test.ts has a process that ends though its database is away, postgres-crash.sized.test.ts the recovery after that.
longTest(
  'a worker told to stop while Postgres is away exits, and its jobs are recovered by their lease',
  async () => {
    const server = await startOwnServer()
    const queue = await makeQueue(server.url)
    const worker = await queue.worker({ drain: '1s' })
    const { id } = await queue.holdfast.enqueue(work, { hold: queue.ledger.beside('go') })
    await eventually(() => queue.ledger.starts(id).length === 1)
    await server.crash()
    await worker.heard('database.away')
    worker.signal('SIGTERM')
    const { code } = await worker.exited
    expect(code).toBe(0)
    expect(worker.complaints()).toContain('the database is away; the leases of the unwritten results will run out')
    await server.start()
    queue.ledger.open('go')
    await queue.worker()
    expect((await completed(queue, id)).attempts.map(({ outcome }) => outcome)).toEqual(['lease_expired', 'completed'])
  },
  90_000,
)

test('two workers in one process are both drained before it ends', async () => {
  const queue = await makeQueue()
  const program = await queue.worker({ concurrency: 1, drain: '60s' }, { workers: 2 })
  const { id } = await queue.holdfast.enqueue(work, { hold: queue.ledger.beside('go') })
  await eventually(() => queue.ledger.starts(id).length === 1)
  program.signal('SIGTERM')
  // The idle one is done; the process stays for the other.
  await eventually(async () => (await queue.sql('select from holdfast.workers where stopped_at is not null')).length === 1)
  queue.ledger.open('go')
  expect(await program.exited).toEqual({ code: 0, signal: null })
  expect((await completed(queue, id)).attempts).toMatchObject([{ attempt: 1, outcome: 'completed' }])
})
