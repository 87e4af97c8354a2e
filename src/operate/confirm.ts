import { refused } from '../job/refused.js'

/** Says that a sensitive type is meant: the name of the type, or those of several. */
export type Confirm = string | readonly string[]

export function readConfirm(confirm: Confirm | undefined): readonly string[] {
  const names = confirm === undefined ? [] : [confirm].flat()
  if (names.every((name) => typeof name === 'string' && !name.includes('\0'))) return names
  throw refused('confirm', 'must be the name of a type, or a list of names')
}
