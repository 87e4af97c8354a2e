/**
 * For a process that is a worker and nothing else. A job's objects live for some milliseconds, just long enough to be carried
 * over from one small collection to the next; V8 takes that for a reason to let the space for new objects grow, to more than
 * 100 MB where 4 would do, and lets what they leave behind grow to several times of what is alive. Both are for programs that keep
 * what they make. The price is more collections; what they cost and save is in bench/NOTES.md.
 */
export const leanHeapFlags = '--semi-space-growth-factor=1 --heap-growing-percent=100'
