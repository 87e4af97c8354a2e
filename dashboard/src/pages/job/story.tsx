import type { JobAnswer } from '../../../../src/api/jobs.js'
import { Moment } from '../../parts/time.js'
import { storyOf } from './story-lines.js'

/** Everything that happened to a job, the newest first, with errors and their stacks. */
export function Story({ job }: { job: JobAnswer }) {
  return (
    <ol className="story">
      {storyOf(job).map(({ at, say, more, status }, position) => (
        <li key={`${at} ${position}`}>
          <span className="when">
            <Moment at={at} />
          </span>
          <div>
            <span className={status && 'status'} data-status={status}>
              {say}
            </span>
            {more && (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it
              <section className="stack-trace" tabIndex={0} aria-label="Error">
                {more}
              </section>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}
