import type { Fleet, Lane, Load } from '../../api/answers.js'
import { pathOf } from '../../api/use.js'
import { Drain } from '../../charts/drain.js'
import { useSeries } from '../../charts/series.js'
import { Count } from '../../parts/count.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Link } from '../../parts/link.js'
import { WhatOperatorsSaid } from '../../parts/overrides.js'
import { Card } from '../../parts/page.js'
import { inWords, Moment } from '../../parts/time.js'
import { drain } from '../overview/lanes-now.js'
import { LaneActs } from './lane-acts.js'
import { SlotPicture } from './slot-picture.js'

interface LaneCardProps {
  readonly lane: Lane
  readonly load: Load | undefined
  readonly depths: Fleet['depths']
}

/** Of a lane with many types the first are named. */
const typesAtMost = 5

/** One lane: its slots, how it gets on, and what it is set to. */
export function LaneCard({ lane, load, depths }: LaneCardProps) {
  const oldest = Math.max(0, ...depths.map(({ oldest_ms }) => oldest_ms ?? 0))
  const series = useSeries('15m', { lane: lane.name }).data
  /** More workers would find no slot. */
  const full = lane.slots !== null && lane.in_use >= lane.slots
  const waiting = depths.reduce((sum, depth) => sum + depth.waiting, 0)
  return (
    <Card
      title={
        <>
          {lane.name}{' '}
          {!lane.enabled && (
            <span className="badge" data-status="failed">
              drained
            </span>
          )}
        </>
      }
      aside={<LaneActs lane={lane} />}
    >
      <SlotPicture lane={lane} />
      <Facts>
        <Fact name="Waiting">
          <Count count={waiting} />
          {waiting > 0 && `, the oldest for ${inWords(oldest)}`}
        </Fact>
        <Fact name="Ends per second">{(load?.ended_per_s ?? 0).toFixed(1)}</Fact>
        <Fact name="Drains in">
          {series ? (
            <Drain of={series} workers={full ? 0 : (load?.live_workers ?? 0)} otherwise={drain(load)} brief />
          ) : (
            drain(load)
          )}
        </Fact>
        <Fact name="Workers">
          {load?.live_workers ?? 0} live, {load?.workers ?? 0} wanted
        </Fact>
        <Fact name="Slots of one worker">{lane.worker_slots ?? 'no limit'}</Fact>
        <Fact name="Polls every">{inWords(lane.poll_ms)}</Fact>
        <Fact name="Lease">{lane.lease_ms === null ? 'of the worker' : inWords(lane.lease_ms)}</Fact>
        <Fact name="Ageing">{inWords(lane.ageing_ms)} waiting is one priority</Fact>
      </Facts>
      <p className="foot">
        {lane.types.length === 0 && 'No job type is in this lane.'}
        {lane.types.slice(0, typesAtMost).map((type) => (
          <Link key={type} to={`/types/${encodeURIComponent(type)}`}>
            {type}
          </Link>
        ))}
        {lane.types.length > typesAtMost && <Link to="/types">and {lane.types.length - typesAtMost} more</Link>}
      </p>
      <WhatOperatorsSaid overrides={lane.overrides} releases={`admin/workers/lanes/${pathOf(lane.name)}/release`} />
      {lane.changed && (
        <p className="foot soft">
          Changed <Moment at={lane.changed.at} /> by {lane.changed.by}
          {lane.changed.why && `: ${lane.changed.why}`}
        </p>
      )}
    </Card>
  )
}
