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
  const [started, ended] = [last?.started_at, last?.ended_at].map((time) => Date.parse(time ?? '')) as [number, number]
  // A text that is no time is nothing to reckon with.
  return Number.isNaN(ended - started) ? null : <Ran type={job.type} started={started} ended={ended} />
}

function Ran({ type, started, ended }: { type: string; started: number; ended: number }) {
  const [from, to] = [ended - hourMs, ended + stepMs].map((ms) => new Date(ms).toISOString())
  const enabled = useMay('workers:view')
  const series = useAnswer<SeriesAnswer>('series', { type, step: '15m', from, to }, { enabled, everyMs: 60_000 })
  const ranMs = ended - started
  const rank = series.data && rankOf(ranMs / 1_000, series.data.run_s)
  return (
    <Fact name="Ran for">
      {inWords(ranMs)}
      {rank && (
        <span className="soft" title={`half of the attempts of ${type} then took at most ${inWords(rank.p50 * 1_000)}`}>
          {`, ${rank.words}`}
        </span>
      )}
    </Fact>
  )
}
