import type { JobAnswer } from '../../../../src/api/jobs.js'
import type { SeriesAnswer } from '../../../../src/api/series.js'
import { useAnswer } from '../../api/use.js'
import { Fact } from '../../parts/facts.js'
import { inWords } from '../../parts/time.js'
import { useMay } from '../../session/session.js'
import { rankOf } from './rank.js'

const hourMs = 3_600_000
const stepMs = 900_000

/** How long the last attempt ran, and whether that is much for its type: beside the attempts that ended within the hour before. */
export function RunTime({ job }: { job: JobAnswer }) {
  const last = job.attempts.findLast(({ started_at }) => started_at !== null)
  const ended = last === undefined ? 0 : Date.parse(last.ended_at)
  const query = {
    ...{ type: job.type, step: '15m' },
    from: new Date(ended - hourMs).toISOString(),
    to: new Date(ended + stepMs).toISOString(),
  }
  const enabled = useMay('workers:view') && last !== undefined
  const series = useAnswer<SeriesAnswer>('series', query, { enabled, everyMs: 60_000 })
  if (last?.started_at == null) return null
  const ranMs = ended - Date.parse(last.started_at)
  const rank = series.data && rankOf(ranMs / 1_000, series.data.run_s)
  return (
    <Fact name="Ran for">
      {inWords(ranMs)}
      {rank && (
        <span className="soft" title={`half of the attempts of ${job.type} then took at most ${inWords(rank.p50 * 1_000)}`}>
          {`, ${rank.words}`}
        </span>
      )}
    </Fact>
  )
}
