import { defineType, type RunContext } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { by } from '../support/flow.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const other = defineType({ type: 'other', run: () => {} })
const retried = { maxAttempts: 3, backoff: { base: 1, cap: 1, jitter: 0 } } as const

/** A transaction in which a job was completed, and that ends when it is told how. The server would end it if it did nothing. */
async function heldOpen(queue: Queue) {
  const tx = await queue.connect()
  let told: (end: 'commit' | 'rollback') => void = () => {}
  const end = new Promise<'commit' | 'rollback'>((resolve) => {
    told = resolve
  })
  const state = { completed: false, end: (how: 'commit' | 'rollback') => told(how) }
  const run = async (_: unknown, { completeWith, job }: RunContext) => {
    if (job.attempt > 1) return
    await tx.query('begin')
    await completeWith(tx)
    state.completed = true
    const alive = setInterval(() => void tx.query('select 1').catch(() => {}), 1_000)
    await tx.query(await end).finally(() => clearInterval(alive))
  }
  return { state, run }
}

async function othersEnd(queue: Queue): Promise<void> {
  const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 20 }, () => other.job({})))
  await Promise.all(jobs.map((job) => queue.holdfast.wait(job, { timeout: '20s' })))
}

test.each(['commit', 'rollback'] as const)(
  'operators who set limits while a transaction is open hold up no other job, and count its job rightly after a %s',
  async (end) => {
    const queue = await makeQueue()
    const { state, run } = await heldOpen(queue)
    const work = defineType({ type: 'work', ...retried, run })
    await startHere(queue, [work, other])
    const job = await queue.holdfast.enqueue(work, {})
    await eventually(() => state.completed)
    const { flow } = queue.holdfast
    // Refused on a machine so busy that the transaction is open for long; then the operator comes again.
    const limited = [() => flow.limit('work', { maxRunning: 1 }, by), () => flow.setLane('default', { slots: 8 }, by)].map(
      (set) => eventually(() => set().then(() => true)),
    )
    await flow.limit('other', { maxRunning: 5 }, by)
    await othersEnd(queue)
    await othersEnd(queue)
    state.end(end)
    await Promise.all(limited)
    await queue.holdfast.wait(job)
    expect((await queue.holdfast.job(job.id))?.attempts).toHaveLength(end === 'commit' ? 1 : 2)
    await othersEnd(queue)
    await eventually(async () => (await queue.sql('select from holdfast.leases')).length === 0)
    expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
    expect(await queue.sql('select from holdfast.lane_slots')).toEqual([])
  },
)

test('an attempt that runs out of time with its transaction open holds up no other job, and ends as the transaction does', async () => {
  const queue = await makeQueue()
  const { state, run } = await heldOpen(queue)
  const work = defineType({ type: 'work', timeout: 50, maxAttempts: 1, run })
  const worker = await startHere(queue, [work, other])
  const job = await queue.holdfast.enqueue(work, {})
  await eventually(() => state.completed)
  await othersEnd(queue)
  await othersEnd(queue)
  state.end('commit')
  await queue.holdfast.wait(job)
  await eventually(() => worker.health().running === 0)
  expect((await queue.holdfast.job(job.id))?.attempts.map(({ outcome }) => outcome)).toEqual(['completed'])
})

test('the probe of a breaker that ends in an open transaction holds up no attempt of its type, and closes the breaker with it', async () => {
  const queue = await makeQueue()
  const { state, run } = await heldOpen(queue)
  let fail: () => void = () => {}
  const failing = new Promise<void>((resolve) => {
    fail = resolve
  })
  let slowRuns = false
  const work = defineType({
    type: 'work',
    maxAttempts: 1,
    run: async (what: string, ctx: RunContext) => {
      if (what === 'probe') return run(what, ctx)
      slowRuns = true
      await failing
      throw new Error('it fails')
    },
  })
  await startHere(queue, [work, other])
  const slow = await queue.holdfast.enqueue(work, 'slow')
  await eventually(() => slowRuns)
  await queue.holdfast.flow.breaker('work', 'open', by)
  await queue.sql('update holdfast.gates set breaker_probe_at = holdfast.now()')
  const probe = await queue.holdfast.enqueue(work, 'probe')
  await eventually(() => state.completed)
  fail()
  await expect(queue.holdfast.wait(slow, { timeout: '20s' })).rejects.toMatchObject({ code: 'job_dead' })
  await othersEnd(queue)
  expect(await queue.holdfast.flow.gate('work')).toMatchObject({ breaker: { open: true } })
  state.end('commit')
  await queue.holdfast.wait(probe)
  expect(await queue.holdfast.flow.gate('work')).toMatchObject({ breaker: { open: false } })
})
