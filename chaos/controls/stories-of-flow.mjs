// Stories of limits, cancels and unique keys. Nothing is broken in them, so whatever is violated is the defect's.
import { cancel } from '../sweep/operating.mjs'
import { patient } from './stories.mjs'

const enqueue = (stage, specs) => stage.enqueue((requests) => stage.producer().enqueueMany(requests), specs)
const hasStarted = (stage, job) =>
  stage.until(() => stage.ledger.entries().some((entry) => entry.kind === 'start' && entry.job === job))
const limited = (specs, name) => specs.map((spec) => ({ ...spec, limits: [name] }))

async function limit(stage, limits, promises) {
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
