import { useFleet, useLoads } from '../../api/answers.js'
import { Loaded, Page } from '../../parts/page.js'
import { DepthLimits } from './depth-limits.js'
import { NewLane } from './lane-acts.js'
import { LaneCard } from './lane-card.js'
import { Workers } from './workers.js'

/** Where jobs run: the lanes with their slots, who works in them, and how much may wait. */
export function Lanes() {
  const fleet = useFleet()
  const loads = useLoads()
  return (
    <Page title="Lanes and workers" aside={<NewLane />}>
      <div className="stack">
        <Loaded query={fleet}>
          {({ lanes, workers, depths }) => (
            <>
              {lanes.length === 0 && (
                <p className="empty">No lane exists yet. The first worker that starts makes the lane default.</p>
              )}
              <div className="grid lanes">
                {lanes.map((lane) => (
                  <LaneCard
                    key={lane.name}
                    lane={lane}
                    load={loads.data?.lanes[lane.name]}
                    depths={depths.filter((depth) => depth.lane === lane.name)}
                  />
                ))}
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
