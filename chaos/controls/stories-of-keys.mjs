// Stories of the limits of a key, and of a type that is paused.
import { cancel } from '../sweep/operating.mjs'
import { patient } from './stories.mjs'
import { enqueue, hasStarted, limit, sharing } from './stories-of-flow.mjs'

/** Jobs of a key, which is the name of the limit that they fall under. */
const ofKey = (key, ms, count) => Array(count).fill({ ms, limits: [key], options: { concurrencyKey: key, maxAttempts: 20 } })

/** Of each key one may run, and two workers could have more. */
export async function oneOfEachKey(stage) {
  await limit(stage, { maxRunningPerKey: 1 }, { limits: { a: 1, b: 1 } })
  await Promise.all([stage.worker(stage.url, patient), stage.worker(stage.url, patient)])
  const [{ id }] = await enqueue(stage, ofKey('a', 2_000, 1))
  await hasStarted(stage, id)
  await enqueue(stage, [...ofKey('a', 300, 3), ...ofKey('b', 300, 3)])
}

/** Of each key two may start in three seconds. */
export async function keysInThreeSeconds(stage) {
  const rate = { count: 2, perMs: 1_500 }
  await limit(stage, { ratePerKey: { count: 2, per: '3s' } }, { rates: { a: rate, b: rate } })
  await enqueue(stage, [...ofKey('a', 1_000, 4), ...ofKey('b', 1_000, 3)])
  await stage.worker(stage.url, patient)
}

/** A type is paused with two jobs in it, which are cancelled when others, of a type that is not, have run. */
export async function pausedType(stage) {
  const { flow, work } = await sharing(stage, { limits: { paused: 0 } })
  await flow.pauseType('work', { by: 'ada' })
  const held = await enqueue(stage, Array(2).fill({ limits: ['paused'] }))
  await work()
  const others = await stage.enqueue(
    (requests) => stage.producer().enqueueMany(requests.map((one) => ({ ...one, type: 'more' }))),
    Array(3).fill({ ms: 300 }),
  )
  for (const { id } of others) await hasStarted(stage, id)
  for (const { id } of held) await cancel(stage, stage.producer(), id)
}
