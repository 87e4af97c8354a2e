import type { JobPage } from '../history/list.js'
import { isJobId } from '../job/id.js'
import { refused } from '../job/refused.js'
import { withMember } from './id.js'

/** Where the list continues in each member: after this job, from the beginning (null), or not at all, because it has ended ('end'). */
export type MemberCursor = Readonly<Record<string, string | null | 'end'>>

/** One page of the jobs of several members. */
export interface MemberJobPage extends JobPage {
  jobs: (JobPage['jobs'][number] & { member: string })[]
  /** Members that did not answer: their jobs are missing here, and follow in a later page if they are back by then. */
  unavailable: string[]
}

/** A member that is not in the cursor has been added since, and begins at the beginning. */
export function readCursor(cursor: string | undefined, members: readonly string[]): MemberCursor {
  const given = cursor === undefined ? {} : parsed(cursor)
  return Object.fromEntries(members.map((name) => [name, given[name] ?? null]))
}

function parsed(cursor: string): Record<string, string | null> {
  try {
    const found: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const fits = (at: unknown) => at === null || at === 'end' || (typeof at === 'string' && isJobId(at))
    if (found && typeof found === 'object' && Object.values(found).every(fits)) return found as Record<string, string | null>
  } catch {
    // Told below, like everything else that is no cursor.
  }
  throw refused('cursor', 'is not what a page of jobs gave as its next')
}

/**
 * One page out of a page of each member, newest first across all of them. A page may look back less far than another, so what is older than the
 * shortest look waits for a later page. Each member goes on after the last of its jobs that is given out.
 */
export function mergePages(
  pages: ReadonlyMap<string, JobPage>,
  from: MemberCursor,
  limit: number,
): Omit<MemberJobPage, 'unavailable'> {
  const looks = [...pages.values()].flatMap(({ next }) => next ?? [])
  const seenTo = looks.sort().at(-1) ?? ''
  const all = [...pages].flatMap(([member, { jobs }]) => jobs.map((job) => ({ member, job })))
  const seen = all.filter(({ job }) => job.id >= seenTo).sort((a, b) => (a.job.id < b.job.id ? 1 : -1))
  const given = seen.slice(0, limit)
  const cursor: Record<string, string | null> = { ...from }
  for (const [member, page] of pages) {
    const own = given.filter((one) => one.member === member)
    const whole = own.length === page.jobs.length
    cursor[member] = whole ? (page.next ?? 'end') : (own.at(-1)?.job.id ?? from[member] ?? null)
  }
  const goesOn = [...pages.keys()].some((member) => cursor[member] !== 'end')
  const backTo = [...pages.values()].flatMap(({ lookedBackTo }) => lookedBackTo ?? [])
  return {
    jobs: given.map(({ member, job }) => ({ ...job, id: withMember(member, job.id), member })),
    next: goesOn ? Buffer.from(JSON.stringify(cursor)).toString('base64url') : null,
    lookedBackTo: backTo.length === 0 ? null : new Date(Math.max(...backTo.map(Number))),
  }
}
