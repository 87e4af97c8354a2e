// What operators do to types, keys, breakers and lanes.
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { operation, sometimes } from '../command.mjs'
import { definitions, dependencies as dependencyNames } from '../types.mjs'

const who = { by: 'fuzz' }
const orNone = (arbitrary) => sometimes(fc.option(arbitrary, { nil: null, freq: 2 }))
const rate = fc.record({ count: fc.integer({ min: 1, max: 4 }), per: fc.constantFrom(200, 600) })

/** Only what is named changes; null takes a limit away. */
function named(given) {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function scoped(names, given) {
  return Object.fromEntries(
    Object.entries(names)
      .filter(([field]) => field in given)
      .map(([field, scope]) => [scope, given[field] ?? undefined]),
  )
}

async function limit(world, { type: name, ...given }) {
  const limits = named(given)
  if (Object.keys(limits).length === 0) return
  const scopes = {
    maxRunning: `max_running ${name}`,
    maxRunningPerKey: `key_max_running ${name}`,
    rate: `rate ${name}`,
    ratePerKey: `key_rate ${name}`,
  }
  await world.change(`limit ${name}`, scoped(scopes, limits), () => world.holdfast.flow.limit(name, limits, who))
}

async function setLane(world, { lane: name, ...given }) {
  const fields = named(given)
  const scopes = { slots: `slots ${name}`, workerSlots: `worker_slots ${name}` }
  const settings = { ...scoped(scopes, fields), ...('enabled' in fields ? { [`disabled ${name}`]: !fields.enabled } : {}) }
  await world.change(`setLane ${name}`, settings, () => world.holdfast.flow.setLane(name, fields, who, { unsafe: true }))
}

/** A limit that comes and goes, as where the workers of a rolling deploy do not agree on it. */
async function flapLane(world, { lane: name, slots, times }) {
  for (let time = 0; time < times; time++) await setLane(world, { lane: name, slots: time % 2 === 0 ? slots : null })
}

/** Whether a breaker is held open after each action; undefined: it stays as it is. */
const holds = { open: undefined, close: false, hold_open: true, hold_closed: false, release: false }

async function breaker(world, { type: name, action }) {
  const settings = holds[action] === undefined ? {} : { [`breaker ${name}`]: holds[action] }
  await world.change(`breaker ${name} ${action}`, settings, () => world.holdfast.flow.breaker(name, action, who))
}

export function gates({ types, keys }) {
  const type = fc.constantFrom(...types)
  const key = fc.constantFrom(...keys)
  return [
    operation('pauseType', 2, { type }, (world, { type: name }) =>
      world.change(`pauseType ${name}`, { [`paused ${name}`]: true }, () => world.holdfast.flow.pauseType(name, who)),
    ),
    operation('resumeType', 2, { type }, (world, { type: name }) =>
      world.change(`resumeType ${name}`, { [`paused ${name}`]: false }, () => world.holdfast.flow.resumeType(name, who)),
    ),
    operation('pauseKey', 4, { type, key }, (world, { type: name, key: of }) =>
      world.change(`pauseKey ${name} ${of}`, { [`paused ${name} ${of}`]: true }, () =>
        world.holdfast.flow.pauseKey(name, of, who),
      ),
    ),
    operation('resumeKey', 1, { type, key }, (world, { type: name, key: of }) =>
      world.change(`resumeKey ${name} ${of}`, { [`paused ${name} ${of}`]: false }, () =>
        world.holdfast.flow.resumeKey(name, of, who),
      ),
    ),
    operation(
      'limit',
      6,
      {
        type,
        maxRunning: orNone(fc.integer({ min: 1, max: 4 })),
        maxRunningPerKey: orNone(fc.integer({ min: 1, max: 2 })),
        rate: orNone(rate),
        ratePerKey: orNone(rate),
        fair: sometimes(fc.boolean()),
      },
      limit,
    ),
    operation('setWeight', 1, { type, key, weight: fc.constantFrom(0.5, 3) }, (world, { type: name, key: of, weight }) =>
      world.act(`setWeight ${name} ${of}`, () => world.holdfast.flow.setWeight(name, of, weight, who)),
    ),
    operation(
      'breaker',
      4,
      { type, action: fc.constantFrom('open', 'open', 'close', 'hold_open', 'hold_closed', 'release') },
      breaker,
    ),
  ]
}

/** Only of a type that is ordered: its keys' jobs one after the other. */
async function order(world, { type: name, ...given }) {
  const limits = named(given)
  if (Object.keys(limits).length === 0) return
  await world.change(`order ${name}`, scoped({ ordered: `ordered ${name}` }, limits), () =>
    world.holdfast.flow.limit(name, limits, who),
  )
}

export function ordering({ types }) {
  const args = { type: fc.constantFrom(...types), ordered: sometimes(fc.boolean()), haltOnDead: sometimes(fc.boolean()) }
  const on = { ...args, ordered: fc.constant(true) }
  return [operation('orderKeys', 6, on, order), operation('changeOrder', 2, args, order)]
}

/** Other code is deployed: from now on the type uses these. */
async function use(world, { type: name, uses }) {
  world.fleet.uses = { ...world.fleet.uses, [name]: uses }
  const types = definitions(world.fleet.uses).filter(({ type }) => type === name)
  await world.change(`use ${name}`, { [`uses ${name}`]: uses }, () => world.holdfast.registerTypes(types, { update: true }))
}

async function limitDependency(world, { dependency: name, ...given }) {
  const limits = named(given)
  const scopes = { maxRunning: `max_running ${name}`, rate: `rate ${name}` }
  await world.change(`limitDependency ${name}`, scoped(scopes, limits), () =>
    world.holdfast.flow.limitDependency(name, limits, who, { create: true }),
  )
}

/** What operators do to a dependency that may not exist yet. */
function toDependency(world, name, what, settings, work) {
  return world.change(`${what} ${name}`, settings, async () => {
    await world.holdfast.flow.limitDependency(name, {}, who, { create: true })
    await work(world.holdfast.flow)
  })
}

export function dependencies({ types }) {
  const dependency = fc.constantFrom(...dependencyNames)
  return [
    operation('use', 8, { type: fc.constantFrom(...types), uses: fc.subarray(dependencyNames) }, use),
    operation(
      'limitDependency',
      8,
      { dependency, maxRunning: orNone(fc.integer({ min: 1, max: 5 })), rate: orNone(rate) },
      limitDependency,
    ),
    operation('pauseDependency', 1, { dependency }, (world, { dependency: name }) =>
      toDependency(world, name, 'pauseDependency', { [`paused ${name}`]: true }, (flow) => flow.pauseDependency(name, who)),
    ),
    operation('resumeDependency', 2, { dependency }, (world, { dependency: name }) =>
      toDependency(world, name, 'resumeDependency', { [`paused ${name}`]: false }, (flow) => flow.resumeDependency(name, who)),
    ),
    operation(
      'dependencyBreaker',
      3,
      { dependency, action: fc.constantFrom('open', 'open', 'close', 'hold_open', 'hold_closed', 'release') },
      (world, { dependency: name, action }) => {
        const settings = holds[action] === undefined ? {} : { [`breaker ${name}`]: holds[action] }
        return toDependency(world, name, `breaker ${action}`, settings, (flow) => flow.dependencyBreaker(name, action, who))
      },
    ),
  ]
}

export function laneChanges({ types, lanes }) {
  const type = fc.constantFrom(...types)
  const lane = fc.constantFrom(...lanes)
  return [
    operation(
      'setLane',
      6,
      {
        lane,
        slots: fc.oneof(fc.constantFrom(undefined, null), fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 })),
        workerSlots: orNone(fc.integer({ min: 1, max: 4 })),
        enabled: sometimes(fc.boolean()),
        lease: orNone(fc.constantFrom('2s', '4s')),
        poll: sometimes(fc.constantFrom('100ms', '300ms')),
      },
      setLane,
    ),
    operation('flapLane', 3, { lane, slots: fc.integer({ min: 4, max: 8 }), times: fc.integer({ min: 2, max: 8 }) }, flapLane),
    operation('moveType', 2, { type, lane }, (world, { type: name, lane: to }) =>
      world.change(`moveType ${name} ${to}`, { [`lane ${name}`]: to }, () => world.holdfast.flow.moveType(name, to, who)),
    ),
  ]
}

export const passing = () => [operation('wait', 4, { ms: fc.constantFrom(50, 150, 400) }, (_world, { ms }) => pause(ms))]
