import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { useFleet, useLoads } from '../../api/answers.js'
import { usePages } from '../../api/use.js'
import { Loaded, Page } from '../../parts/page.js'
import { useMay } from '../../session/session.js'
import { DepthLimits } from './depth-limits.js'
import { LaneCard } from './lane-card.js'
import { Workers } from './workers.js'

/** Where jobs run: the lanes with their slots, who works in them, and how much may wait. */
export function Lanes() {
  const fleet = useFleet()
  const loads = useLoads()
  const seesJobs = useMay('jobs:read')
  return (
    <Page title="Lanes and workers">
      <div className="stack">
        <Loaded query={fleet}>
          {({ lanes, workers, depths }) => (
            <>
              {lanes.length === 0 && (
                <p className="empty">No lane exists yet. The first worker that starts makes the lane default.</p>
              )}
              <div className="grid">
                <RunningOrNot ask={seesJobs}>
                  {(running) =>
                    lanes.map((lane) => (
                      <LaneCard
                        key={lane.name}
                        lane={lane}
                        load={loads.data?.lanes[lane.name]}
                        depths={depths.filter((depth) => depth.lane === lane.name)}
                        running={running.filter((job) => job.lane === lane.name)}
                      />
                    ))
                  }
                </RunningOrNot>
              </div>
              <Workers workers={workers} />
            </>
          )}
        </Loaded>
        <DepthLimits />
      </div>
    </Page>
  )
}

type Running = (running: readonly JobSummaryAnswer[]) => React.ReactNode

/** The jobs that run now, as far as the list of jobs finds them, for those who may see jobs. */
function RunningOrNot({ ask, children }: { ask: boolean; children: Running }) {
  return ask ? <WithRunning>{children}</WithRunning> : children([])
}

function WithRunning({ children }: { children: Running }) {
  return children(usePages<JobSummaryAnswer, 'jobs'>('jobs', 'jobs', { status: 'processing', limit: 100 }, { looks: 1 }).rows)
}
