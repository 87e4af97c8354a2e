// The end of a sequence: gates are opened, everything comes to an end, and what is left is held against what was promised.
import { setTimeout as pause } from 'node:timers/promises'
import { check } from '../check/checker.mjs'
import { readHistory } from '../check/state.mjs'
import { now } from '../evidence/ledger.mjs'
import { countersOff, driftByItself, leftOver } from './drift.mjs'
import { overLimits } from './measured.mjs'
import { dependencies, keys, lanes, people, typeNames } from './types.mjs'

/** A queue in which nothing happens for so long stands still. On a busy machine everything takes longer, but something happens. */
const stillMs = 20_000
/** Invariants of the fault bench that hold whatever the commands were. */
const invariants = ['I3', 'I4', 'I5', 'I6', 'I12', 'I21']
const who = { by: 'fuzz' }

const unfinished = `
  select job_id from holdfast.queue union all select job_id from holdfast.waiting
  union all select job_id from holdfast.following
  union all select job_id from holdfast.lane_slots union all select job_id from holdfast.cancellations
  union all select id from holdfast.executions where status = 'running' union all select id from holdfast.batches where status = 'running'
  union all select group_id from holdfast.group_changes limit 3`

/** Sentences about everything that is wrong with this world; none where it kept its promises. */
export async function verdict(world) {
  const { books } = world
  await world.comeToRest()
  // Whoever starts although a gate is shut does so now.
  if (books.anyTouched && books.violations.length === 0) await pause(1_000)
  if (books.violations.length > 0) return books.violations
  await open(world)
  await drained(world)
  await world.look()
  await world.stopWorkers()
  const sql = (text) => world.sql(text)
  for (const sentence of [...(await leftOver(sql)), ...(await driftByItself(sql))]) books.violated(sentence)
  const history = await readHistory(world.url, recorded(books.entries), { mayStay: ['fuzz', 'chaos checker', 'holdfast'] })
  for (const sentence of overLimits(books, history.attempts)) books.violated(sentence)
  const verdicts = check(history)
  const revived = books.entries.filter(({ kind }) => kind === 'reviving').map(({ job }) => job)
  // Whoever is replayed counts its attempts from one again: its fences grow with the time and not with the attempt.
  for (const name of invariants)
    for (const sentence of verdicts[name].violations)
      if (!(name === 'I6' && revived.some((job) => sentence.includes(`fences of ${job}`)))) books.violated(`${name}: ${sentence}`)
  if (history.sessions.deadlocks > 0) books.violated(`${history.sessions.deadlocks} deadlocks`)
  await ends(world, history)
  return books.violations
}

/** Without the executions of workers that signed off with jobs in hand: those were never begun, as far as history knows. */
function recorded(entries) {
  const of = ({ job, fence }) => `${job} ${fence}`
  const unacknowledged = new Set(entries.filter((entry) => entry.unacknowledged).map(of))
  return entries.filter((entry) => !unacknowledged.has(of(entry)))
}

/** Opens every gate that stops jobs for good. Limits stay as they are: with them too everything has to come to an end. */
async function open(world) {
  const { books, holdfast } = world
  const { flow } = holdfast
  await world.fleet.heal()
  // What hangs in another process would hang on.
  if (await world.fleet.killProcess()) world.harm()
  world.release()
  for (const lane of lanes.filter((name) => books.touched(`disabled ${name}`) || books.touched(`worker_slots ${name}`)))
    await world.change(`setLane ${lane}`, { [`disabled ${lane}`]: false, [`worker_slots ${lane}`]: undefined }, () =>
      flow.setLane(lane, { enabled: true, workerSlots: null }, who),
    )
  for (const name of dependencies) {
    const opened = { [`paused ${name}`]: false, [`breaker ${name}`]: false, [`rate ${name}`]: undefined }
    if (Object.keys(opened).some((scope) => books.touched(scope)))
      await world.change(`open ${name}`, opened, async () => {
        await flow.limitDependency(name, { rate: null, breaker: false }, who, { create: true })
        await flow.resumeDependency(name, who)
        await flow.dependencyBreaker(name, 'close', who)
        await flow.dependencyBreaker(name, 'hold_closed', who)
      })
  }
  for (const type of typeNames) {
    const opened = {
      [`paused ${type}`]: false,
      [`breaker ${type}`]: false,
      [`rate ${type}`]: undefined,
      [`key_rate ${type}`]: undefined,
    }
    await world.change(`open ${type}`, opened, async () => {
      await flow.limit(type, { rate: null, ratePerKey: null, breaker: false, haltOnDead: false }, who)
      if (books.touched(`paused ${type}`)) await flow.resumeType(type, who)
      await flow.breaker(type, 'close', who)
      await flow.breaker(type, 'hold_closed', who)
    })
    for (const key of keys.filter((name) => books.touched(`paused ${type} ${name}`) || books.touched(`ordered ${type}`)))
      await world.change(`resumeKey ${type} ${key}`, { [`paused ${type} ${key}`]: false }, () => flow.resumeKey(type, key, who))
  }
  for (const { name } of await holdfast.schedules.list()) await world.act('pause', () => holdfast.schedules.pause(name, who))
  for (const id of world.composed.batches) await world.act('close', () => holdfast.batches.close(id))
  for (const name of ['w1', 'w2']) if (!world.fleet.names.includes(name)) await world.fleet.start(name)
  await world.act('runNowMany', () => world.holdfast.runNowMany({ status: 'scheduled' }, who))
}

async function drained(world) {
  const { books, holdfast } = world
  let rows
  let [seen, seenAt] = [-1, now()]
  for (;;) {
    const asked = await world.sql(`select job_id::text as id from holdfast.waiting where status = 'awaiting_approval'`)
    for (const { id } of asked) for (const by of people) await world.act('approve', () => holdfast.approve(id, { by }))
    rows = await world.sql(unfinished)
    if (rows.length === 0) return
    if (books.entries.length !== seen) [seen, seenAt] = [books.entries.length, now()]
    else if (now() - seenAt > stillMs) break
    await pause(30)
  }
  for (const { job_id: id } of rows) {
    const [job] = await world.sql('select status, type from holdfast.jobs where id = $1', [id])
    const why = await holdfast.explain(id).catch(() => undefined)
    books.violated(`job ${id} of ${job?.type} is still ${job?.status} and does not end: ${JSON.stringify(why)}`)
  }
}

/** What became of every job, beside what may have. */
async function ends(world, history) {
  const { books } = world
  const status = new Map(history.jobs.map((job) => [job.id, job]))
  for (const [job, { ends: allowed }] of books.jobs) {
    const found = status.get(job)?.status
    if (found === undefined && books.forgotten.has(job)) continue
    if (found === undefined) books.violated(`acknowledged job ${job} is lost`)
    else if (!allowed.has(found) && !books.allMayEnd.has(found) && !(found === 'dead' && books.harmed))
      books.violated(`job ${job} is ${found}, and may only be ${[...allowed].join(' or ')}`)
  }
  const started = new Set(books.entries.filter(({ kind }) => kind === 'start').map(({ job }) => job))
  for (const job of books.undone) if (status.has(job) || started.has(job)) books.violated(`job ${job} was rolled back and exists`)
  const forgotten = new Set(books.forgotten.size > 0 ? typeNames : [])
  for (const sentence of await countersOff((text) => world.sql(text), forgotten)) books.violated(sentence)
}
