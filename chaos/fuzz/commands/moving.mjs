// What operators do to jobs.
import fc from 'fast-check'
import { operation, pick, picked } from '../command.mjs'
import { people } from '../types.mjs'

const live = `status in ('scheduled', 'pending', 'failed', 'processing', 'awaiting_approval')`
const who = { by: 'fuzz', why: 'to see what happens' }
const payload = fc.record({ how: fc.constantFrom('ok', 'hang', 'hang', 'fatal'), ms: fc.constantFrom(0, 150) })

/** One move of one job that the query finds. */
function move(name, weight, where, args, perform) {
  return operation(name, weight, { pick, ...args }, async (world, { pick: which, ...given }) => {
    const job = await picked(world, which, where)
    if (job !== undefined) await world.act(name, () => perform(world, job, given))
  })
}

function mayBe(world, job, end) {
  world.books.mayEnd(job, end)
}

async function cancelMany(world, filter) {
  // Those that are just being enqueued among them.
  world.books.allMayEnd.add('cancelled')
  await world.act('cancelMany', () => world.holdfast.cancelMany(filter, who))
}

async function replay(world, job, options) {
  world.books.note({ kind: 'reviving', job })
  // What belongs to something keeps the payload that says to what.
  if (options.payload && !world.books.jobs.has(job)) return
  if (options.payload) world.books.acknowledge(job, options.payload)
  await world.holdfast.deadLetters.replay(job, who, options)
}

export const moving = ({ types, keys }) => [
  move('cancel', 3, live, {}, (world, job) => {
    mayBe(world, job, 'cancelled')
    return world.holdfast.cancel(job, who)
  }),
  operation('cancelMany', 1, { type: fc.constantFrom(...types), key: fc.constantFrom(...keys) }, (world, { type, key }) =>
    cancelMany(world, { type, concurrencyKey: key }),
  ),
  move('setPriority', 2, live, { priority: fc.integer({ min: 0, max: 9 }) }, (world, job, { priority }) =>
    world.holdfast.setPriority(job, priority, who),
  ),
  move('reschedule', 2, live, { delay: fc.constantFrom(0, 100, 60_000) }, (world, job, time) =>
    world.holdfast.reschedule(job, time, who),
  ),
  move('runNow', 2, `status in ('scheduled', 'failed')`, {}, (world, job) => world.holdfast.runNow(job, who)),
  operation(
    'setPriorityMany',
    1,
    { type: fc.constantFrom(...types), priority: fc.integer({ min: 0, max: 9 }) },
    (world, { type, priority }) => world.act('setPriorityMany', () => world.holdfast.setPriorityMany({ type }, priority, who)),
  ),
  operation('rescheduleMany', 1, { type: fc.constantFrom(...types), delay: fc.constantFrom(0, 100) }, (world, { type, delay }) =>
    world.act('rescheduleMany', () => world.holdfast.rescheduleMany({ type }, { delay }, who)),
  ),
  operation('runNowMany', 1, { type: fc.constantFrom(...types) }, (world, { type }) =>
    world.act('runNowMany', () => world.holdfast.runNowMany({ type }, who)),
  ),
  move('resume', 3, `status = 'cancelled'`, {}, (world, job) => {
    world.books.note({ kind: 'reviving', job })
    return world.holdfast.resume(job, who)
  }),
  move('forget', 1, `status in ('completed', 'cancelled', 'discarded')`, {}, async (world, job) => {
    // The end of a job that belongs to something is still to be compared with that.
    if (!world.books.jobs.has(job)) return
    world.books.forgotten.add(job)
    return world.holdfast.forget(job, who)
  }),
]

export const deadLetters = ({ types }) => [
  move('replay', 4, `status = 'dead'`, {}, (world, job) => replay(world, job, {})),
  move('replayWithPayload', 5, `status = 'dead'`, { payload }, (world, job, options) => replay(world, job, options)),
  operation('replayMany', 1, { type: fc.constantFrom(...types) }, async (world, { type }) => {
    const members = (await world.sql('select job_id::text as job from holdfast.members')).map(({ job }) => job)
    for (const job of [...world.books.jobs.keys(), ...members]) world.books.note({ kind: 'reviving', job })
    await world.act('replayMany', () => world.holdfast.deadLetters.replayMany({ type }, who))
  }),
  move('discard', 1, `status = 'dead'`, {}, (world, job) => {
    mayBe(world, job, 'discarded')
    world.books.note({ kind: 'reviving', job })
    return world.holdfast.deadLetters.discard(job, who)
  }),
]

export const deciding = () => [
  move('approve', 4, `status = 'awaiting_approval'`, { by: fc.constantFrom(...people) }, (world, job, { by }) =>
    world.holdfast.approve(job, { by }),
  ),
  move('reject', 1, `status = 'awaiting_approval'`, { by: fc.constantFrom(...people) }, (world, job, { by }) => {
    mayBe(world, job, 'cancelled')
    return world.holdfast.reject(job, { by, why: 'to see what happens' })
  }),
]
