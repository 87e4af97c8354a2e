import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { sized } from '../support/sized.js'

/** Lease of the workers in these tests, and the longest pause between two rescues: the lease again, plus a quarter. */
const leaseMs = 2_000
const rescueMs = leaseMs * 1.25
/** For a machine that is busy with other suites. */
const slackMs = 10_000

test('a worker killed in the middle of a job: another starts attempt 2 within the lease plus one rescue period', async () => {
  const queue = await makeQueue()
  const first = await queue.worker({ name: 'first' })
  const { id } = await queue.holdfast.enqueue('work', { hold: queue.ledger.beside('go') })
  await eventually(() => queue.ledger.starts(id).length === 1)
  const second = await queue.worker({ name: 'second' })
  await first.kill()
  const killedAt = performance.now()

  await eventually(() => queue.ledger.starts(id).length === 2)
  expect(performance.now() - killedAt).toBeLessThan(leaseMs + rescueMs + slackMs)
  queue.ledger.open('go')
  const story = await eventually(async () => {
    const story = await queue.holdfast.job(id)
    return story?.status === 'completed' && story
  })
  // Attempts were left, so the job was neither failed nor dead in between: it ran again.
  expect(story.attempts).toMatchObject([
    { attempt: 1, outcome: 'lease_expired', worker: 'first', error: { name: 'LeaseExpired' } },
    { attempt: 2, outcome: 'completed', worker: 'second', error: null },
  ])
  expect(second.said).toContainEqual(expect.objectContaining({ event: 'lease.rescued', job: id, attempt: 1, dead: false }))
  expect(queue.ledger.finishes(id)).toHaveLength(1)
})

test('a job that kills its process at every attempt ends dead after its last one, and the fleet lives', async () => {
  const queue = await makeQueue()
  const spawn = () => queue.worker({ concurrency: 1 })
  let fleet = [await spawn(), await spawn()]
  const poison = await queue.holdfast.enqueue('work', { killUntil: 20 }, { maxAttempts: 3 })
  const others = await queue.holdfast.enqueueMany(
    Array.from({ length: 30 }, (_, n) => ({ type: 'work', payload: { ms: 50, n }, priority: 0 })),
  )
  await eventually(
    async () => {
      fleet = await Promise.all(fleet.map((worker) => (worker.gone() ? spawn() : worker)))
      return (await queue.holdfast.job(poison.id))?.status === 'dead'
    },
    { within: 60_000, every: 200 },
  )

  const story = await queue.holdfast.job(poison.id)
  expect(story?.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
    [1, 'lease_expired'],
    [2, 'lease_expired'],
    [3, 'lease_expired'],
  ])
  expect(story?.payload).toEqual({ killUntil: 20 })
  expect(await queue.sql('select reason, attempt from holdfast.dead_letters')).toEqual([{ reason: 'poison', attempt: 3 }])
  expect(queue.ledger.starts(poison.id)).toHaveLength(3)
  for (const { id } of others) await eventually(async () => (await queue.holdfast.job(id))?.status === 'completed')
}, 120_000)

test('the idempotency key of a killed job still answers with that job, which runs again', async () => {
  const queue = await makeQueue()
  await queue.worker()
  const request = { killUntil: 1, ms: 10 }
  const { id } = await queue.holdfast.enqueue('work', request, { idempotencyKey: 'once' })
  await eventually(() => queue.ledger.starts(id).length === 1)
  await queue.worker()
  expect(await queue.holdfast.enqueue('work', request, { idempotencyKey: 'once' })).toEqual({ id, status: 'existing' })
  await eventually(async () => (await queue.holdfast.job(id))?.status === 'completed')
  expect(await queue.holdfast.enqueue('work', request, { idempotencyKey: 'once' })).toEqual({ id, status: 'existing' })
  expect(queue.ledger.starts().map(({ attempt }) => attempt)).toEqual([1, 2])
})

const delayed = sized({ sample: 400, whole: 1_000 })

test(`${delayed} delayed jobs all run once while the workers are killed and replaced`, async () => {
  const queue = await makeQueue()
  const spawn = () => queue.worker({ concurrency: 20 })
  let fleet = [await spawn(), await spawn()]
  // Handlers that take no time: a kill hits waiting jobs and jobs that are being promoted, hardly ever a running one.
  await queue.holdfast.enqueueMany(
    Array.from({ length: delayed }, (_, n) => ({ type: 'work', payload: { n }, delay: 500 + n * 5 })),
  )
  for (let kill = 0; kill < delayed / 200; kill++) {
    await eventually(() => queue.ledger.starts().length >= kill * 200)
    await fleet[0]?.kill()
    fleet = [fleet[1] as (typeof fleet)[0], await spawn()]
  }
  await eventually(async () => {
    const [row] = await queue.sql("select count(*)::int as done from holdfast.jobs where status = 'completed'")
    return row?.done === delayed
  })
  const rescued = await queue.sql("select job_id from holdfast.history where outcome = 'lease_expired'")
  const again = new Set(rescued.map(({ job_id }) => job_id))
  const runs = new Map<string, number>()
  for (const { job } of queue.ledger.starts()) runs.set(job, (runs.get(job) ?? 0) + 1)
  expect(runs.size).toBe(delayed)
  expect([...runs].filter(([job, times]) => times > 1 && !again.has(job))).toEqual([])
}, 120_000)
