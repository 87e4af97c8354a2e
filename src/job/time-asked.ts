import { refused } from './refused.js'

/** A time of a filter in the form the database takes; null: it was not given. */
export function timeAsked(value: unknown, field: string): string | null {
  if (value === undefined) return null
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  throw refused(field, 'must be a valid Date')
}
