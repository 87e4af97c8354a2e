import type { JobAnswer } from '../../../../src/api/jobs.js'
import { pathOf, useAnswer } from '../../api/use.js'
import { Copy } from '../../parts/copy.js'
import { Link } from '../../parts/link.js'
import { useMay } from '../../session/session.js'

/** The stack of one failure of a group: of the job that is its example, as long as that is kept. */
export function SampleStack({ job, fingerprint }: { job: string; fingerprint: string }) {
  const enabled = useMay('jobs:read')
  const found = useAnswer<JobAnswer>(`jobs/${pathOf(job)}`, {}, { enabled, everyMs: 30_000 })
  const like = found.data?.attempts.findLast(({ error }) => errorOf(error).fingerprint === fingerprint)
  const { stack } = errorOf(like?.error)
  if (like === undefined || stack === undefined) return null
  return (
    <details open className="sample">
      <summary>
        Stack of attempt {like.attempt} {like.worker !== null && `on ${like.worker}`}
      </summary>
      <p>
        <Link to={`/jobs/${job}`}>
          its job <span className="mono">…{job.slice(-8)}</span>
        </Link>{' '}
        <Copy text={stack} label="Copy the stack" />
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it */}
      <section className="stack-trace" tabIndex={0} aria-label="Stack">
        {stack}
      </section>
    </details>
  )
}

const errorOf = (error: unknown) => (error ?? {}) as { fingerprint?: string; stack?: string }
