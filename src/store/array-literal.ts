/**
 * A list as the text PostgreSQL reads for any array type: `{"a","say \"hi\"",NULL,7}`.
 *
 * Clients disagree about arrays (one infers the type from the first element, one expands them to a list of parameters,
 * one needs a type it cannot know), but all of them send a string unchanged. So the list travels as a string and the
 * cast in the statement does the rest. Strings are always quoted: an empty one, 'NULL' or ' x ' then need no special
 * case, for two bytes each. U+0000 is not refused here, the server does that.
 */
export function arrayLiteral(values: readonly unknown[]): string {
  return `{${values.map(element).join(',')}}`
}

const special = /["\\]/
const everySpecial = new RegExp(special, 'g')

function element(value: unknown): string {
  if (value === null) return 'NULL'
  // Looking first makes this three times as fast, and ids are most of what passes here.
  if (typeof value === 'string') return `"${special.test(value) ? value.replace(everySpecial, '\\$&') : value}"`
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  throw new TypeError(`an array element must be a string, number, bigint, boolean or null, not ${typeof value}`)
}

/** The same for words: ids and numbers, in which nothing wants quotes. Looking for what does was a tenth of a settle. */
export function wordsLiteral(words: readonly (string | number)[]): string {
  return `{${words.join(',')}}`
}

/** Back again. */
export function wordsOf(literal: string): string[] {
  return literal.slice(1, -1).split(',')
}

/** Stands between payloads in one text. No JSON can hold it: inside of strings it is escaped, and elsewhere it is no blank. */
export const payloadSeparator = '\u001f'

/** The server fills up a list that is too short with nulls; most lists have no error and no delay in them. */
export function unlessAllNull<Value>(values: readonly (Value | null)[]): readonly (Value | null)[] {
  return values.every((value) => value === null) ? [] : values
}
