/**
 * Whether everything that `part` says is true of `whole`. An object may say less than there is; an array must have as
 * many elements, each of which may again say less. Both are JSON: no dates, no classes, nothing circular.
 */
export function isPartOf(part: unknown, whole: unknown): boolean {
  if (typeof part !== 'object' || part === null) return Object.is(part, whole)
  if (typeof whole !== 'object' || whole === null || Array.isArray(part) !== Array.isArray(whole)) return false
  if (Array.isArray(part) && part.length !== (whole as unknown[]).length) return false
  return Object.keys(part).every((key) => {
    const wanted = (part as Record<string, unknown>)[key]
    if (wanted === undefined) return !Object.hasOwn(whole, key)
    return Object.hasOwn(whole, key) && isPartOf(wanted, (whole as Record<string, unknown>)[key])
  })
}
