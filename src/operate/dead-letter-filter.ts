import { isJobId } from '../job/id.js'
import { didYouMean } from '../job/nearest.js'
import { refused } from '../job/refused.js'
import { readTagsAsked } from '../job/tags.js'
import { unstorable } from '../job/text.js'
import type { DeadPosition, EncodedDeadFilter } from '../store/dead-letter-store.js'

/** Why a job is dead: its attempts are used up, its handler said that no retry can help, or it crashed its host again and again. */
export type DeathReason = 'exhausted' | 'fatal' | 'poison' | 'expired' | 'buried'

/** Which dead letters are meant: those that fit every field that is given. */
export interface DeadLetterFilter {
  type?: string
  reason?: DeathReason
  /** Stands somewhere in the name or message of the last error; capitals do not matter. */
  error?: string
  /** Died at this time or later. */
  diedFrom?: Date
  /** Died before this time. */
  diedBefore?: Date
  /** The job has all of these tags, and may have more. */
  tags?: readonly string[]
  /** Part of this batch or execution. */
  batch?: string
  /** Every dead letter there is. Has to be said where something is done, because an empty filter is more often a mistake. */
  all?: true
}

const known = ['type', 'reason', 'error', 'diedFrom', 'diedBefore', 'tags', 'batch', 'all']
const reasons: readonly DeathReason[] = ['exhausted', 'fatal', 'poison', 'expired', 'buried']
const longestText = 500

/** Checks a filter whole, and brings it into the form the database takes. */
export function encodeDeadFilter(filter: DeadLetterFilter, { mayBeEmpty }: { mayBeEmpty: boolean }): EncodedDeadFilter {
  if (filter === null || typeof filter !== 'object') throw refused('filter', 'is missing')
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  for (const [field] of given) {
    if (!known.includes(field)) throw refused(field, `is not known${didYouMean(field, known)}; known are ${known.join(', ')}`)
  }
  if (given.length === 0 && !mayBeEmpty) {
    throw refused('filter', 'is empty, which would mean every dead letter; say { all: true } if it is meant')
  }
  const { type, reason, error, diedFrom, diedBefore, tags, batch, all } = filter
  if (all !== undefined && all !== true) throw refused('all', 'is true or left out')
  if (reason !== undefined && !reasons.includes(reason)) {
    throw refused('reason', `is ${String(reason)}${didYouMean(String(reason), reasons)}; it must be one of ${reasons.join(', ')}`)
  }
  return {
    type: text(type, 'type'),
    reason: reason ?? null,
    error: text(error, 'error'),
    diedFrom: time(diedFrom, 'diedFrom'),
    diedBefore: time(diedBefore, 'diedBefore'),
    tags: readTagsAsked(tags),
    batch: group(batch),
  }
}

/** An opaque cursor into the list. What is behind it stays the same however many die meanwhile. */
export function encodeCursor({ at, id }: DeadPosition): string {
  return Buffer.from(`${at} ${id}`).toString('base64url')
}

export function decodeCursor(cursor: unknown): DeadPosition {
  if (typeof cursor === 'string' && cursor.length <= 200) {
    const [at = '', id = '', more] = Buffer.from(cursor, 'base64url').toString().split(' ')
    const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(at) && isDay(at.slice(0, 19))
    if (more === undefined && isTime && isJobId(id)) return { at, id }
  }
  throw refused('after', 'must be the next of an earlier page of dead letters')
}

/** A 31st of February is read as a day in March here, and refused by the database. */
function isDay(time: string): boolean {
  const read = new Date(`${time}Z`)
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(time)
}

function group(value: unknown): string | null {
  if (value === undefined) return null
  if (typeof value === 'string' && isJobId(value)) return value
  throw refused('batch', 'must be the id of a batch or an execution')
}

function text(value: unknown, field: string): string | null {
  if (value === undefined) return null
  const storable = typeof value === 'string' && value !== '' && value.length <= longestText && !unstorable.test(value)
  if (storable) return value
  throw refused(field, `must be a text of 1 to ${longestText} characters`)
}

function time(value: unknown, field: string): string | null {
  if (value === undefined) return null
  if (value instanceof Date && value.getUTCFullYear() >= 2000 && value.getUTCFullYear() <= 2199) return value.toISOString()
  throw refused(field, 'must be a valid Date from the year 2000 to 2199')
}
