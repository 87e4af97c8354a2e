// What handlers measured, held against the settings that were in force when they started.
import { group } from '../check/history.mjs'
import { slackMs } from './books.mjs'
import { ordered, outOfOrder } from './ordered.mjs'
import { dependencies } from './types.mjs'

/** Ends of an attempt after which its handler may go on for a moment beside the one that has its slot. */
const excused = ['lease_expired', 'handed_back', 'timed_out']

/**
 * @param {import('./books.mjs').Books} books
 * @param {object[]} attempts { job, attempt, outcome } as history has them
 */
export function overLimits(books, attempts) {
  const found = []
  const lost = [...excused, ...(books.harmed ? ['cancelled'] : [])]
  const ofJob = group(attempts, ({ job }) => job)
  const counts = ({ job, attempt }) => !ofJob.get(job)?.some((row) => row.attempt === attempt && lost.includes(row.outcome))
  found.push(
    ...outOfOrder(
      books,
      books.entries.filter((entry) => entry.kind === 'start' && counts(entry)),
    ),
  )
  const running = new Map()
  const starts = new Map()
  for (const entry of [...books.entries].sort((a, b) => a.at - b.at)) {
    const execution = `${entry.job} ${entry.fence}`
    if (entry.kind === 'start' && counts(entry)) {
      running.set(execution, entry)
      for (const violation of startViolations(books, entry, [...running.values()], starts)) found.push(violation)
    } else if (entry.kind === 'finish' || entry.kind === 'threw') running.delete(execution)
    else if (entry.kind === 'killed') for (const [key, { pid }] of running) if (pid === entry.pid) running.delete(key)
  }
  return found
}

function* startViolations(books, entry, running, starts) {
  const { type, key, at, worker } = entry
  const lane = laneOf(books, entry, at)
  const ofType = running.filter((other) => other.type === type)
  yield* atMost(books, `max_running ${type}`, at, ofType, `of ${type}`)
  if (key) {
    yield* atMost(books, `key_max_running ${type}`, at, ofType.filter((other) => other.key === key), `of ${type} with key ${key}`) // biome-ignore format: one thought
    yield* notShut(books, `paused ${type} ${key}`, entry, `although key ${key} is paused`)
  }
  if (key && ordered(books, type, at))
    yield* atMost(
      books,
      'one',
      at,
      ofType.filter((other) => other.key === key),
      `of the ordered key ${key} of ${type}`,
    )
  for (const name of dependencies.filter((one) => uses(books, type, one, at))) {
    yield* atMost(books, `max_running ${name}`, at, running.filter((other) => uses(books, other.type, name, at)), `that use ${name}`) // biome-ignore format: one thought
    yield* notShut(books, `paused ${name}`, entry, `although ${name} is paused`)
    yield* notShut(books, `breaker ${name}`, entry, `although the breaker of ${name} is held open`)
    yield* notFaster(books, `rate ${name}`, entry, starts, name)
  }
  yield* notShut(books, `paused ${type}`, entry, 'although its type is paused')
  yield* notShut(books, `breaker ${type}`, entry, 'although its breaker is held open')
  yield* notFaster(books, `rate ${type}`, entry, starts, type)
  if (key) yield* notFaster(books, `key_rate ${type}`, entry, starts, `${type} ${key}`)
  if (lane === undefined) return
  const ofLane = running.filter((other) => laneOf(books, other, at) === lane)
  yield* atMost(books, `slots ${lane}`, at, ofLane, `of lane ${lane}`)
  const ofWorker = ofLane.filter((other) => other.worker === worker)
  // What workers know of their lanes is a little older than what others do.
  yield* atMost(books, `worker_slots ${lane}`, at, ofWorker, `of lane ${lane} in worker ${worker}`, 3 * slackMs)
  yield* notShut(books, `disabled ${lane}`, entry, `although lane ${lane} is disabled`)
}

/** Whether a type uses a dependency for sure. */
function uses(books, type, dependency, at) {
  return books.inForce(`uses ${type}`, at).every((names) => names?.includes(dependency))
}

function* atMost(books, scope, at, running, what, ms = slackMs) {
  const limits = scope === 'one' ? [1] : books.inForce(scope, at, ms).map((limit) => limit ?? Number.POSITIVE_INFINITY)
  const most = Math.max(...limits)
  if (running.length > most) yield `${running.length} handlers ${what} ran at once, and ${most} may: ${jobsOf(running)}`
}

function* notShut(books, scope, { job, type, at }, why) {
  const states = books.inForce(scope, at)
  if (states.every((shut) => shut === true)) yield `job ${job} of ${type} started ${why}`
}

/** Half of the time counts: between the claim, which is when the database counts a start, and the handler lies a moment that is not always the same. */
function* notFaster(books, scope, { at }, starts, of) {
  const times = starts.get(scope + of) ?? []
  starts.set(scope + of, times)
  times.push(at)
  const rates = books.inForce(scope, at, slackMs + 1_000)
  if (rates.length !== 1 || !rates[0]) return
  const [{ count, per }] = rates
  const recent = times.filter((time) => time > at - per / 2).length
  if (recent > count) yield `${recent} handlers of ${of} started within ${per / 2} ms, and ${count} may in ${per} ms`
}

/** The lane a job of this type runs in; undefined while that is not sure. */
function laneOf(books, { type, at }, until) {
  const possible = new Set(books.inForce(`lane ${type}`, until, until - at + 2 * slackMs).map((lane) => lane ?? 'default'))
  return possible.size === 1 ? [...possible][0] : undefined
}

const jobsOf = (running) => running.map(({ job, worker }) => `${job} in ${worker}`).join(', ')
