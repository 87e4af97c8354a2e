import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { useAnswer } from '../../api/use.js'
import { Fact } from '../../parts/facts.js'
import { inWords } from '../../parts/time.js'
import { useMay } from '../../session/session.js'
import { lasted } from './lasted.js'

const lookedAt = 100

/** From the enqueue to the end, with delays, waits and retries: counted from the newest jobs themselves, as no histogram has it. */
export function EndToEnd({ type }: { type: string }) {
  const enabled = useMay('jobs:read')
  const newest = useAnswer<{ jobs: JobSummaryAnswer[]; next: string | null }>(
    'jobs',
    { type, status: 'completed', limit: lookedAt },
    { enabled, everyMs: 15_000 },
  )
  if (!newest.data) return null
  const found = lasted(newest.data.jobs)
  return (
    <Fact name="Enqueued until completed">
      {found ? (
        <>
          {inOnePiece('p50', found.p50)}, {inOnePiece('p95', found.p95)}, {inOnePiece('p99', found.p99)}
          <div className="soft">{found.of === 1 ? 'of the one job' : `of the newest ${found.of} jobs`} that completed</div>
        </>
      ) : (
        <span className="soft">
          {newest.data.next === null ? 'none of its jobs completed yet' : 'none of the newest jobs completed'}
        </span>
      )}
    </Fact>
  )
}

/** Not broken between a number and its unit. */
const inOnePiece = (name: string, ms: number) => `${name} ${inWords(ms)}`.replaceAll(' ', '\u00a0')
