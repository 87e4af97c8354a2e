// Repeated and composite work, and what operators do to it: batches, executions and schedules.
import fc from 'fast-check'
import { newJobId } from '../../../dist/job/id.js'
import { operation, pick } from '../command.mjs'
import { definitions } from '../types.mjs'
import { makeWorkflows, taskNames } from '../workflows.mjs'

const who = { by: 'fuzz', why: 'to see what happens' }
const payload = fc.record({
  how: fc.constantFrom('ok', 'ok', 'ok', 'once', 'fatal', 'hang'),
  ms: fc.constantFrom(0, 5, 30, 150),
})

/** Whatever is revived has its attempts once more: its jobs, and those of the executions that its tasks are. */
async function reviving(world, group) {
  const rows = await world.sql(
    `with recursive below (id) as (
       select $1::uuid union all select e.id from below as b join holdfast.executions as e on e.parent_id = b.id)
     select m.job_id::text as job from below as b join holdfast.members as m on m.group_id = b.id`,
    [group],
  )
  for (const { job } of rows) world.books.note({ kind: 'reviving', job })
}

/** One thing that is done to one of these groups, which there may be none of yet. */
function toOne(name, weight, of, args, perform) {
  return operation(name, weight, { pick, ...args }, async (world, { pick: which, ...given }) => {
    const ids = world.composed[of]
    if (ids.length > 0) await world.act(name, () => perform(world, ids[ids.length - 1 - (which % ids.length)], given))
  })
}

async function start(world, types, { nth, items, ...input }) {
  const workflow = makeWorkflows(definitions(world.fleet.uses).filter(({ type }) => types.includes(type)))[nth]
  const id = newJobId()
  const done = await world.act('start', () => world.holdfast.start(workflow, { ...input, items }, { id }))
  if (!done) return
  world.books.note({ kind: 'begun', execution: id })
  world.composed.executions.push(id)
}

export function executions({ types }) {
  const asked = {
    nth: fc.constantFrom(0, 1),
    how: fc.constantFrom('ok', 'ok', 'once', 'fatal', 'hang'),
    ms: fc.constantFrom(0, 30),
  }
  return [
    operation('start', 8, { ...asked, items: fc.array(payload, { maxLength: 3 }) }, (world, given) => start(world, types, given)),
    toOne('cancelExecution', 3, 'executions', {}, (world, id) => world.holdfast.executions.cancel(id, who)),
    toOne('resumeExecution', 5, 'executions', {}, async (world, id) => {
      await reviving(world, id)
      return world.holdfast.executions.resume(id, who)
    }),
    toOne('rerun', 2, 'executions', { from: fc.constantFrom(...taskNames) }, async (world, id, { from }) => {
      const { id: again } = await world.holdfast.executions.rerun(id, from, who)
      world.books.note({ kind: 'begun', execution: again })
      world.composed.executions.push(again)
    }),
  ]
}

async function batch(world, { jobs, open }) {
  const id = newJobId()
  const callback = (kind) => ({ type: jobs[0].type, payload: { how: 'ok', batch: id, callback: kind } })
  const callbacks = { onSuccess: callback('success'), onFailure: callback('failure'), onComplete: callback('complete') }
  if (!(await world.act('batch', () => world.holdfast.batch({ id, open, jobs, ...callbacks })))) return
  world.books.note({ kind: 'batched', batch: id })
  world.composed.batches.push(id)
}

export function batches({ types }) {
  const jobs = fc.array(fc.record({ type: fc.constantFrom(...types), payload }), { minLength: 1, maxLength: 6, size: 'max' })
  return [
    operation('batch', 8, { jobs, open: fc.boolean() }, batch),
    toOne('addToBatch', 3, 'batches', { jobs }, (world, id, { jobs: more }) => world.holdfast.batches.add(id, more)),
    toOne('closeBatch', 3, 'batches', {}, (world, id) => world.holdfast.batches.close(id)),
    toOne('cancelBatch', 2, 'batches', {}, (world, id) => {
      world.books.note({ kind: 'batch_cancelled', batch: id })
      return world.holdfast.batches.cancel(id, who)
    }),
    toOne('retryBatch', 5, 'batches', {}, async (world, id) => {
      await reviving(world, id)
      return world.holdfast.batches.retry(id, who)
    }),
  ]
}

export const scheduleNames = ['hourly', 'often']

export function schedules({ types }) {
  const name = fc.constantFrom(...scheduleNames)
  const overlap = fc.constantFrom('allow', 'skip', 'queue', 'cancel')
  const did = (what, weight, args, perform) =>
    operation(what, weight, { name, ...args }, (world, { name: of, ...given }) =>
      world.act(what, () => perform(world.holdfast.schedules, of, given)),
    )
  const made = { type: fc.constantFrom(...types), overlap, ms: fc.constantFrom(0, 150) }
  return [
    did('createSchedule', 6, made, (all, of, { type, overlap: rule, ms }) =>
      all.create(
        { name: of, type, every: '1s', overlap: rule, missed: { all: 100 }, payload: { how: 'ok', ms, schedule: of } },
        who,
      ),
    ),
    did('changeSchedule', 2, { overlap }, (all, of, given) => all.change(of, given, who)),
    did('pauseSchedule', 2, {}, (all, of) => all.pause(of, who)),
    did('resumeSchedule', 2, {}, (all, of) => all.resume(of, who)),
    did('removeSchedule', 1, {}, (all, of) => all.remove(of, who)),
    did('runSchedule', 2, {}, (all, of) => all.runNow(of, who)),
    did('backfill', 2, { seconds: fc.integer({ min: 1, max: 8 }) }, (all, of, { seconds }) =>
      all.backfill(of, { from: new Date(Date.now() - seconds * 1_000), to: new Date() }, who),
    ),
  ]
}
