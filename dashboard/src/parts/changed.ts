import { given } from './fields.js'

/** Of a form, what was changed and nothing else, so that the rest stays with whoever said it; and the reason, and the time it is for. */
export function changedFields(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  { why, for: lasts }: Readonly<Record<string, string>> = {},
): object {
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
  const said = Object.entries({ why: given(why), for: given(lasts) }).filter(([, value]) => value !== undefined)
  return Object.fromEntries([...changed, ...said])
}
