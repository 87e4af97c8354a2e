// Stories of limits, cancels and unique keys. Nothing is broken in them, so whatever is violated is the defect's.

import { backoffFor, makeWork } from '../load/handler.mjs'
import { quickWorker } from '../stage.mjs'
import { cancel } from '../sweep/operating.mjs'
import { patient } from './stories.mjs'

export const enqueue = (stage, specs) => stage.enqueue((requests) => stage.producer().enqueueMany(requests), specs)
export const hasStarted = (stage, job) =>
  stage.until(() => stage.ledger.entries().some((entry) => entry.kind === 'start' && entry.job === job))
const limited = (specs, name) => specs.map((spec) => ({ ...spec, limits: [name] }))

export async function limit(stage, limits, promises) {
  Object.assign(stage.promises, { undisturbed: true, ...promises })
  await stage.producer().registerTypes([stage.work])
  await stage.producer().flow.limit('work', limits, { by: 'ada' })
}

/** Six jobs, two at once, of which some take longer than others. */
export async function twoAtOnce(stage) {
  await limit(stage, { maxRunning: 2 }, { limits: { two: 2 } })
  await enqueue(stage, limited([{ ms: 2_000 }, ...Array(5).fill({ ms: 300 })], 'two'))
  await stage.worker(stage.url, patient)
}

/** Jobs of two types that use one dependency. Returns who enqueues them by turns, and starts a worker of both. */
export async function sharing(stage, promises) {
  Object.assign(stage.promises, { undisturbed: true, ...promises })
  const { note, sink, gates } = stage
  const types = ['work', 'more'].map((type) =>
    makeWork({ note, sink, gates, definition: { type, backoff: backoffFor(stage.backoffMs), uses: ['stripe'] } }),
  )
  stage.work = types[0]
  const producer = stage.producer()
  await producer.registerTypes(types, { update: true })
  return {
    flow: producer.flow,
    byTurns: (specs) =>
      stage.enqueue((requests) => producer.enqueueMany(requests.map((one, at) => ({ ...one, type: types[at % 2] }))), specs),
    async work() {
      const worker = await stage.startWorker(stage.producer(), types, { ...quickWorker, ...patient })
      stage.onClose(() => worker.stop({ now: true }))
    },
  }
}

/** Six jobs of two types, of which two may use what they share at once. */
export async function twoShareADependency(stage) {
  const { flow, byTurns, work } = await sharing(stage, { limits: { two: 2 } })
  await flow.limitDependency('stripe', { maxRunning: 2 }, { by: 'ada' })
  await byTurns(limited([{ ms: 1_500 }, ...Array(5).fill({ ms: 400 })], 'two'))
  await work()
}

/** Six jobs of two types, of which two may start in three seconds. */
export async function twoShareARate(stage) {
  const { flow, byTurns, work } = await sharing(stage, { rates: { two: { count: 2, perMs: 1_500 } } })
  await flow.limitDependency('stripe', { rate: { count: 2, per: '3s' } }, { by: 'ada' })
  await byTurns(limited(Array(6).fill({ ms: 1_000 }), 'two'))
  await work()
}

/** A dependency gets its limit when as many jobs run as that allows, and two more come. */
export async function limitedWhileBusy(stage) {
  const { flow, byTurns, work } = await sharing(stage, { limits: { two: 2 } })
  await work()
  const running = await byTurns(limited(Array(2).fill({ ms: 2_500 }), 'two'))
  for (const { id } of running) await hasStarted(stage, id)
  await flow.limitDependency('stripe', { maxRunning: 2 }, { by: 'ada' })
  await byTurns(limited(Array(2).fill({ ms: 200 }), 'two'))
}

/** Jobs of one ordered key: the first fails once and comes again, the second is due later, and one behind them has a high priority. */
export async function oneAfterTheOther(stage) {
  await limit(stage, { ordered: true }, {})
  const ofKey = (spec, options = {}) => ({ ...spec, ordered: 'k', options: { concurrencyKey: 'k', maxAttempts: 20, ...options } })
  await enqueue(stage, [
    ofKey({ ms: 300, failOnce: true }),
    ofKey({ ms: 300 }, { delay: 600 }),
    ofKey({ ms: 300 }, { priority: 0 }),
    ofKey({ ms: 300 }, { priority: 9 }),
  ])
  await stage.worker(stage.url, patient)
}

/** Three jobs in a lane with one slot. */
export async function narrowLane(stage) {
  Object.assign(stage.promises, { undisturbed: true, limits: { one: 1 } })
  await stage.producer().registerTypes([stage.work])
  const { flow } = stage.producer()
  await flow.setLane('default', { slots: 1 }, { by: 'ada' })
  await enqueue(stage, limited(Array(3).fill({ ms: 200 }), 'one'))
  await stage.worker(stage.url, patient)
}

/** Six jobs that take a while, of a type of which two may start in three seconds. */
export async function twoInThreeSeconds(stage) {
  await limit(stage, { rate: { count: 2, per: '3s' } }, { rates: { two: { count: 2, perMs: 1_500 } } })
  await enqueue(stage, limited(Array(6).fill({ ms: 2_000 }), 'two'))
  await stage.worker(stage.url, patient)
}

/** A job is cancelled while its handler runs, which does not listen and goes on to its end. Another one waits for its slot. */
export async function cancelWhileRunning(stage) {
  await limit(stage, { maxRunning: 1 }, { limits: { one: 1 } })
  const [{ id }] = await enqueue(stage, limited([{ ms: 2_500 }, { ms: 100 }], 'one'))
  await stage.worker(stage.url, patient)
  await hasStarted(stage, id)
  await cancel(stage, stage.producer(), id)
}

/** A unique key is asked for while its job runs, and again when that has ended. */
export async function uniqueKey(stage) {
  stage.promises.undisturbed = true
  await stage.worker(stage.url, patient)
  const spec = (ms) => ({ ms, unique: 'u', options: { unique: { key: 'u', onConflict: 'reject' }, maxAttempts: 20 } })
  const [{ id }] = await enqueue(stage, [spec(1_500)])
  await hasStarted(stage, id)
  await enqueue(stage, [spec(100)])
  const ended = async () => (await stage.sql(`select from holdfast.jobs where id = $1 and status = 'completed'`, [id])).length > 0
  if (await stage.until(ended)) stage.note({ kind: 'ended', job: id })
  await enqueue(stage, [spec(100)])
}

/** One more job is asked for while the first one of its key runs. */
export async function oneMore(stage) {
  stage.promises.undisturbed = true
  await stage.worker(stage.url, patient)
  const spec = (ms) => ({ ms, unique: 'u', options: { unique: { key: 'u', onConflict: 'one_more' }, maxAttempts: 20 } })
  const [{ id }] = await enqueue(stage, [spec(1_000)])
  await hasStarted(stage, id)
  await enqueue(stage, [spec(100)])
}
