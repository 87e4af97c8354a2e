// Small stories that a correct queue comes through without a violation, each told so that one kind of defect shows.

import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { insideOf } from '../../dist/inside.js'
import { now } from '../evidence/ledger.mjs'
import { makeOldDay } from '../sweep/keeping.mjs'
import { loseAll } from '../sweep/working.mjs'
import { startProxy } from '../wire/proxy.mjs'
import { callOf, Trap } from '../wire/trap.mjs'

const enqueue = (stage, specs, producer = stage.producer()) => stage.enqueue((requests) => producer.enqueueMany(requests), specs)
const starts = (stage) => stage.ledger.entries().filter(({ kind }) => kind === 'start')

async function throughProxy(stage) {
  const proxy = await startProxy(Number(new URL(stage.url).port))
  stage.onClose(() => proxy.close())
  return { proxy, url: proxy.through(stage.url) }
}

/** Where nobody may lose a lease, a busy machine must not be the reason that somebody does. */
export const patient = { lease: '8s' }

/** Jobs of every kind come and go, and nothing is broken. */
export async function quiet(stage) {
  stage.promises.undisturbed = true
  await stage.worker(stage.url, patient)
  await enqueue(stage, [
    { zebra: 1, a: 2 },
    // First, and many: where most of what a type does fails, its breaker opens.
    ...Array(15).fill({ a: 1 }),
    { failUntil: 1 },
    { failUntil: 2 },
    { failUntil: 20, ends: 'dead', options: { maxAttempts: 2 } },
    { fatal: 'no retry can help', ends: 'dead' },
    { options: { delay: 2_000, maxAttempts: 20 } },
    { snoozeMs: 200 },
  ])
}

/** Jobs that are due much later than a busy machine would be late by itself. */
export async function dueLater(stage) {
  stage.promises.undisturbed = true
  await stage.worker(stage.url, patient)
  await enqueue(stage, Array(2).fill({ options: { delay: 10_000, maxAttempts: 20 } }))
}

/** Jobs that are to be tried again much later than a busy machine would be late by itself. */
export async function lateRetry(stage) {
  stage.promises.undisturbed = true
  stage.retryAfter(5_000)
  await stage.worker(stage.url, patient)
  await enqueue(stage, Array(3).fill({ failUntil: 1 }))
}

/** One long job and two workers who could both have it. */
export async function longJob(stage) {
  stage.promises.undisturbed = true
  await enqueue(stage, [{ ms: 11_000 }])
  await Promise.all([stage.worker(stage.url, patient), stage.worker(stage.url, patient)])
}

/** Every worker that takes the job dies of it: its lease runs out, again and again. */
export async function poison(stage) {
  await enqueue(stage, [{ options: { maxAttempts: 2 } }])
  const keeper = stage.producer()
  for (let round = 0; round < 3; round++) {
    await loseAll(stage)
    await insideOf(keeper).store.leases.rescue({ leases: 10, jobs: 10 })
  }
}

/**
 * A worker is cut off while it works; another one has its job by the time its result arrives. The second worker is sent
 * away before it is done, so that whatever says "completed" has only the first one's word.
 */
export async function lateResult(stage) {
  const [finishFirst, finishSecond] = [stage.gate('first'), stage.gate('second')]
  const { proxy, url } = await throughProxy(stage)
  const first = await stage.worker(url)
  await enqueue(stage, [{ gates: ['first', 'second'] }])
  await stage.until(() => starts(stage).length === 1)
  proxy.freeze()
  const second = await stage.worker()
  await stage.until(() => starts(stage).length === 2)
  finishFirst()
  await stage.until(() => stage.ledger.entries().some(({ kind }) => kind === 'finish'))
  await proxy.heal()
  await stage.until(() => first.health().unwritten === 0)
  await second.stop({ now: true })
  finishSecond()
}

/** A lease runs out that once held a job which somebody else is running by now. */
export async function oldLease(stage) {
  stage.promises.undisturbed = true
  await enqueue(stage, [{ ms: 3_000 }, {}])
  await loseAll(stage)
  await stage.sql(
    `update holdfast.queue set lease_id = null where job_id = (select job_id from holdfast.queue order by seq limit 1)`,
  )
  await stage.sql(`update holdfast.leases set expires_at = holdfast.now() + interval '1500 milliseconds'`)
  await stage.worker(stage.url, patient)
}

/** A worker stops in the middle of a job that has one attempt. */
export async function shutdown(stage) {
  const open = stage.gate('shut')
  const worker = await stage.worker()
  await enqueue(stage, [{ gates: ['shut', 'shut'], options: { maxAttempts: 1 } }])
  await stage.until(() => starts(stage).length === 1)
  await worker.stop({ now: true })
  open()
}

export async function sameKey(stage) {
  const spec = [{ options: { idempotencyKey: 'one', maxAttempts: 20 } }]
  await enqueue(stage, spec)
  await enqueue(stage, spec)
}

export async function oldDay(stage) {
  await makeOldDay(stage)
  await insideOf(stage.producer()).store.partitions.dropOne({ completedMs: 7 * 86_400_000, deadMs: 30 * 86_400_000 })
}

/** The connection of an enqueue ends: before the server has committed it, or after. */
const cutEnqueue = (fault) =>
  async function cut(stage) {
    const { proxy, url } = await throughProxy(stage)
    const producer = stage.producer(url, { statementTimeout: '5s' })
    await producer.registerTypes([stage.work])
    proxy.arm(new Trap(callOf('enqueueJob'), { side: 'frontend', index: 4, fault }))
    await enqueue(stage, [{}], producer)
    // What was acknowledged too early needs a moment to fail.
    await pause(300)
  }
export const cutBeforeCommit = cutEnqueue('cut-before')
export const cutAfterCommit = cutEnqueue('cut-after')

/** A job is committed when two hundred that were enqueued after it have run. */
export async function committedLate(stage) {
  stage.promises.undisturbed = true
  await stage.worker(stage.url, patient)
  const client = new pg.Client({ connectionString: stage.url, application_name: 'chaos stage' })
  await client.connect()
  await client.query('begin')
  await stage.enqueue(
    async (requests) => {
      const jobs = await stage.producer().enqueueMany(requests, { tx: client })
      await enqueue(stage, Array(200).fill({}))
      await stage.until(() => starts(stage).length === 200)
      await client.query('commit')
      return jobs
    },
    [{}],
  )
  await client.end()
}

/** A caller's transaction is rolled back. */
export async function rollback(stage) {
  const client = new pg.Client({ connectionString: stage.url, application_name: 'chaos stage' })
  await client.connect()
  await enqueue(stage, [{}])
  await stage.enqueue(
    async (requests) => {
      stage.note({ kind: 'rolled_back', call: requests[0].payload.call, jobs: [] })
      await client.query('begin')
      await stage.producer().enqueueMany(requests, { tx: client })
      await client.query('rollback')
      return []
    },
    [{}],
  )
  await client.end()
}

/**
 * The connection that hears notifications is ended; from then on jobs come one by one to a worker at rest. One that is not notified looks
 * by itself, in the end every eight seconds: the second and third job come long before the look after the one that found the first.
 */
export async function lostListener(stage) {
  stage.promises.pickupWithinMs = 500
  await stage.sql('update holdfast.lanes set poll_ms = 8000')
  await stage.worker(stage.url, { ...patient, poll: '8s' })
  const listening = () =>
    stage.sql(`select pid from pg_stat_activity where datname = current_database() and application_name = 'holdfast listener'`)
  // A connection that is there may not have listened yet. A worker becomes idle only where it hears.
  if (!(await stage.until(async () => (await stage.sql('select from holdfast.idle_workers')).length > 0)))
    throw new Error('no worker became idle')
  const [{ pid }] = await listening()
  await stage.sql('select pg_terminate_backend($1)', [pid])
  await stage.until(async () => (await listening()).some((session) => session.pid !== pid), 6_000)
  const producer = stage.producer()
  for (let n = 0; n < 3; n++) {
    await pause(2_500)
    const [{ id }] = await enqueue(stage, [{}], producer)
    const asked = now()
    await stage.until(() => starts(stage).some(({ job }) => job === id))
    stage.note({ kind: 'pickup', ms: (starts(stage).find(({ job }) => job === id)?.at ?? now()) - asked })
  }
}
