// What happens to workers: they are restarted, killed and cut off. And workers behind HTTP.
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { operation, sometimes } from '../command.mjs'
import { typeNames } from '../types.mjs'

const name = fc.constantFrom('w1', 'w2')

/** A worker that starts writes what its environment says of a lane into the table, as every first start of an installation does. */
async function restart(world, { name: which, lane, slots, now }) {
  const environment = lane && slots ? { [`HOLDFAST_LANE_${lane.toUpperCase()}_SLOTS`]: String(slots) } : {}
  const settings = { ...(lane && slots ? { [`slots ${lane}`]: slots } : {}), ...usesInCode(world) }
  await world.act(`stop ${which}`, () => world.fleet.stop(which, { now }))
  if (!world.fleet.mayStart(which)) return
  await world.change(`start ${which}`, settings, () => world.fleet.start(which, environment))
}

/** What a worker that starts now says its types use. */
function usesInCode({ fleet }) {
  return Object.fromEntries(Object.entries(fleet.uses).map(([type, uses]) => [`uses ${type}`, uses]))
}

async function terminate(world, { pick }) {
  const rows = await world.sql(
    `select pid from pg_stat_activity where datname = current_database() and application_name <> 'fuzz' and backend_type = 'client backend' order by pid`,
  )
  if (rows.length === 0) return
  world.harm()
  await world.sql('select pg_terminate_backend($1)', [rows[pick % rows.length].pid])
}

export const workers = ({ lanes }) => [
  operation(
    'restart',
    3,
    { name, lane: sometimes(fc.constantFrom(...lanes)), slots: sometimes(fc.integer({ min: 1, max: 8 })), now: fc.boolean() },
    restart,
  ),
]

export const harm = () => [
  operation('cut', 1, { name }, async (world, { name: which }) => {
    world.harm()
    world.fleet.cut(which)
  }),
  operation('freeze', 1, { name, ms: fc.constantFrom(100, 4_000) }, async (world, { name: which, ms }) => {
    world.harm()
    world.fleet.freeze(which)
    await pause(ms)
    await world.fleet.heal()
    world.harm()
  }),
  operation('terminateBackend', 1, { pick: fc.nat({ max: 30 }) }, terminate),
  operation('startProcess', 1, {}, (world) =>
    world.change('start a process', usesInCode(world), () => world.fleet.startProcess()),
  ),
  operation('killProcess', 1, {}, async (world) => {
    world.harm()
    await world.act('kill a process', () => world.fleet.killProcess())
  }),
]

/** Undefined: it was refused. */
async function ask(world, path, body) {
  const headers = { authorization: `Bearer ${world.adminKey}` }
  const done = await world.act(`/worker/${path}`, () =>
    world.app.inject({ method: 'POST', url: `/worker/${path}`, headers, payload: body }),
  )
  const answer = done?.value
  if (answer && answer.statusCode >= 500 && !world.inTrouble)
    world.books.violated(`/worker/${path} answered ${answer.statusCode}: ${answer.body}`)
  return answer && answer.statusCode < 300 ? answer.json() : undefined
}

async function register(world) {
  const { remote: afar } = world
  // Two who ask at once are one worker.
  afar.registering ??= ask(world, 'register', { name: 'afar', types: typeNames }).then((answer) => answer?.worker)
  const worker = await afar.registering
  if (!worker) afar.registering = undefined
  return worker
}

async function claim(world, { limit }) {
  const worker = await register(world)
  if (!worker) return
  const jobs = (await ask(world, 'claim', { worker, limit, lease: '3s', wait: '0s' }))?.jobs ?? []
  for (const { id: job, lease: fence, attempt, type, payload } of jobs) {
    const execution = { job, attempt, fence, pid: process.pid, worker: 'afar', type, key: payload.key }
    world.books.note({ kind: 'start', ...execution })
    // It may have signed off before it heard of them.
    if (world.remote.gone.has(worker)) giveUp(world, execution)
    else world.remote.jobs.push({ token: worker, ...execution })
  }
}

/** What is given back unacknowledged was never begun, as far as history knows. */
function giveUp(world, { token: _, ...execution }) {
  world.books.note({ kind: 'threw', ...execution, unacknowledged: true })
}

const results = {
  complete: { result: 'complete' },
  fail: { result: 'fail', error: { message: 'it fails as told' } },
  fatal: { result: 'fail', error: { message: 'no retry can help' }, fatal: true },
  snooze: { result: 'snooze', delay: '50ms' },
  stop: { result: 'snooze', delay: '50ms', stop: 'key' },
  hand_back: { result: 'hand_back', ran_ms: 1 },
}

async function settle(world, { how, count }) {
  const worker = await world.remote.registering
  const ended = world.remote.jobs.filter(({ token }) => token === worker).slice(0, count)
  if (ended.length === 0) return
  world.remote.jobs = world.remote.jobs.filter((execution) => !ended.includes(execution))
  for (const { token: _, ...execution } of ended) {
    world.books.note({ kind: how === 'complete' ? 'finish' : 'threw', ...execution })
    if (how === 'fail' || how === 'fatal') world.books.mayEnd(execution.job, 'dead')
  }
  const told = ended.map(({ job, fence: lease }) => ({ job, lease, ...results[how] }))
  const answer = await ask(world, 'settle', { worker, results: told })
  const settled = new Set(answer?.results.filter((result) => result.settled).map(({ job }) => job))
  for (const execution of ended) if (!settled.has(execution.job)) giveUp(world, execution)
}

async function beat(world) {
  const worker = await world.remote.registering
  const leases = [...new Set(world.remote.jobs.map(({ fence }) => fence))]
  if (worker && leases.length > 0) await ask(world, 'heartbeat', { worker, leases, lease: '3s' })
}

async function signOff(world) {
  const worker = await world.remote.registering
  if (!worker) return
  const { remote: afar } = world
  afar.gone.add(worker)
  afar.registering = undefined
  for (const execution of afar.jobs) giveUp(world, execution)
  afar.jobs = []
  await ask(world, 'sign-off', { worker })
}

export const remote = () => [
  operation('remoteClaim', 2, { limit: fc.integer({ min: 1, max: 5 }) }, claim),
  operation('remoteSettle', 3, { how: fc.constantFrom(...Object.keys(results)), count: fc.integer({ min: 1, max: 5 }) }, settle),
  operation('remoteBeat', 1, {}, beat),
  operation('remoteSignOff', 1, {}, signOff),
]
