/** What a mutant may be, as the page says it. */
export const kinds = {
  where: 'a condition of a WHERE or a join is dropped',
  condition: 'a condition of an IF or a loop is dropped',
  comparison: 'a comparison says the opposite',
  boundary: 'a comparison takes its boundary in, or leaves it out',
  lock: 'a lock is not taken, or is waited for where it was skipped',
}
