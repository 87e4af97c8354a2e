import { refused } from './refused.js'

/** What no Postgres text or jsonb can hold: NUL, and half of a surrogate pair, which a driver turns into another character. */
export const unstorable = /[\0\p{Surrogate}]/u

/** Refuses a text that could not be kept as it is, by the name of its field, before the database sees it. */
export function storableText(text: string, field: string): string {
  if (typeof text === 'string' && !unstorable.test(text)) return text
  throw refused(field, 'must be a text without NUL and without halves of surrogate pairs')
}
