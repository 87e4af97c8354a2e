// Seeded sequences of everything that can be done to a queue, until one breaks a promise; then the shortest that still does.
import fc from 'fast-check'
import { now } from '../evidence/ledger.mjs'
import { seeded } from '../seeded.mjs'
import { sequences } from './command.mjs'
import { batches, executions, schedules } from './commands/composing.mjs'
import { approvals, enqueueing, uniqueness } from './commands/enqueueing.mjs'
import { deadLetters, deciding, moving } from './commands/moving.mjs'
import { dependencies, gates, laneChanges, ordering, passing } from './commands/steering.mjs'
import { harm, remote, workers } from './commands/working.mjs'
import { keys, lanes, typeNames, uniqueKeys } from './types.mjs'
import { verdict } from './verdict.mjs'
import { World } from './world.mjs'

export const subjects = {
  enqueueing,
  passing,
  uniqueness,
  approvals,
  deadLetters,
  deciding,
  moving,
  gates,
  dependencies,
  ordering,
  laneChanges,
  executions,
  batches,
  schedules,
  workers,
  remote,
  harm,
}

/** What every sequence has; the others are there by chance. Where everything happens at once, what needs few things is never seen. */
const always = ['enqueueing', 'passing']

/** What a sequence is about, and how many types and keys it has: as its seed says. */
function planned(seed, { about, without = [], narrow, busy, longest = 60 }) {
  const random = seeded(seed)
  const chosen = (about ?? Object.keys(subjects))
    .filter((name) => !without.includes(name))
    .filter((name) => always.includes(name) || random() < (about ? 1 : 0.5))
  const first = (names) => names.slice(0, narrow || random() < 0.4 ? 1 : 1 + Math.floor(random() * names.length))
  const domain = { types: first(typeNames), keys: first(keys), uniqueKeys: first(uniqueKeys), lanes }
  return {
    made: sequences(
      chosen.flatMap((name) => subjects[name](domain)),
      longest,
    ),
    domain,
    busy: busy ?? random() < 0.6,
  }
}

/** A sequence whose moments decide does not fail every time: on the way to a shorter one each is tried so often. */
const triesToShrink = 2

/**
 * One sequence: what the seed makes. Where it fails, shorter ones are tried.
 *
 * @param {object} options serverUrl, seed; shrinkMs: how long to look for a shorter one; path: of a failure, to run what it was made
 *   shorter to; about: names of subjects, all of them where it is left out; without: but not these; narrow: one type and
 *   one key of each kind; busy: whether beside a load, by chance where it is left out; longest: most commands of a sequence; isolation and
 *   patches as for a world
 * @returns {Promise<{ seed, path, commands, violations } | undefined>} the failure, as short as it could be made
 */
export async function fuzz({ serverUrl, seed, path, shrinkMs = 60_000, about, without, narrow, busy, longest, ...world }) {
  let failure
  let giveUpAt = Number.POSITIVE_INFINITY
  const { made, ...plan } = planned(seed, { about, without, narrow, busy, longest })
  const property = fc.asyncProperty(made, async (commands) => {
    for (let tries = failure ? triesToShrink : 1; tries > 0 && now() < giveUpAt; tries--) {
      const violations = await run(commands, plan, { serverUrl, ...world })
      if (violations.length === 0) continue
      if (!failure) giveUpAt = now() + shrinkMs
      failure = { seed, commands: [...commands].map(String), violations }
      throw new Error(violations[0])
    }
  })
  // Every seed is one sequence, so that no run depends on those before it.
  const details = await fc.check(property, { seed, numRuns: 1, unbiased: true, ...(path ? { path } : {}) })
  if (details.failed && !failure) throw details.errorInstance
  return failure && { ...failure, path: details.counterexamplePath }
}

async function run(commands, { domain, busy }, options) {
  const world = await World.open(options)
  try {
    if (busy) world.keepBusy(domain.types, domain.keys)
    await fc.asyncModelRun(() => ({ model: {}, real: world }), commands)
    return [...(await verdict(world))]
  } catch (error) {
    return [...world.books.violations, `the sequence broke: ${error.stack}`]
  } finally {
    await world.close()
  }
}

/**
 * Sequence after sequence, a few at a time, until one fails or the time is over. `wanted` says which failure ends it, where not any does.
 * @returns {Promise<{ runs: number, ms: number, failure?: object }>}
 */
export async function fuzzFor({ seed, withinMs, atOnce = 2, wanted = () => true, ...options }) {
  const begun = now()
  let runs = 0
  let failure
  const one = async () => {
    while (!failure && now() - begun < withinMs) {
      const found = await fuzz({ seed: seed + runs++, ...options })
      if (found && wanted(found)) failure ??= { ...found, afterMs: Math.round(now() - begun) }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  return { runs, ms: Math.round(now() - begun), failure }
}
