// Jobs of an ordered key, held against the order in which they were enqueued.
import { group } from '../check/history.mjs'
import { slackMs } from './books.mjs'

/** Whether the keys of a type are ordered for sure. */
export function ordered(books, type, at, ms = slackMs) {
  return books.inForce(`ordered ${type}`, at, ms).every((value) => value === true)
}

/** @param {object[]} starts those whose attempt was not lost: { job, type, key, at } */
export function* outOfOrder(books, starts) {
  const revived = new Set(books.entries.filter(({ kind }) => kind === 'reviving').map(({ job }) => job))
  const placed = starts.filter(({ job, key }) => key && !revived.has(job) && hasPlace(books.jobs.get(job)))
  for (const [, ofKey] of group(placed, ({ type, key }) => `${type} ${key}`)) {
    const last = new Map()
    for (const { job, at } of ofKey) last.set(job, Math.max(at, last.get(job) ?? 0))
    for (const { job, type, key, at } of ofKey) {
      if (!ordered(books, type, at)) continue
      const mine = books.jobs.get(job).place
      for (const [other, startedAt] of last)
        if (startedAt > at && cameBefore(books.jobs.get(other).place, mine))
          yield `job ${job} of the ordered key ${key} of ${type} started before ${other}, which was enqueued before it`
    }
  }
}

/** Whether its place among others is known: it was enqueued once, so that nothing has replaced it. */
function hasPlace(known) {
  return known?.place !== undefined && known.payloads.length === 1
}

function cameBefore(one, other) {
  return one.call === other.call ? one.at < other.at : one.until < other.since
}
