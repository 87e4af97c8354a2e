import type { previewAnswer, ScheduleStoryAnswer } from '../../../../src/api/schedules.js'
import { type Answered, pathOf, useAnswer } from '../../api/use.js'
import { CronWords } from '../../parts/cron-words.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Json } from '../../parts/json.js'
import { Link } from '../../parts/link.js'
import { Until } from '../../parts/overrides.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { Status } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Moment, timeIn } from '../../parts/time.js'
import { Backfill } from './backfill.js'
import { ChangeSchedule } from './new-schedule.js'
import { DeleteSchedule, PauseSchedule, Reset, RunNow } from './schedule-acts.js'
import { ScheduleStatus } from './schedule-status.js'

/** One schedule: when it ticks, what it makes, its next and its latest ticks. */
export function OneSchedule({ name }: { name: string }) {
  const schedule = useAnswer<ScheduleStoryAnswer>(`admin/schedules/${pathOf(name)}`)
  return (
    <Page title={name}>
      <Loaded query={schedule}>
        {(data) => (
          <div className="stack">
            <div className="row">
              <RunNow name={name} />
              <PauseSchedule schedule={data} />
              <ChangeSchedule schedule={data} />
              <Backfill name={name} />
              {data.code && Object.keys(data.code.differs).length > 0 && <Reset name={name} />}
              {(data.code === null || data.code.gone_since !== null) && <DeleteSchedule name={name} />}
            </div>
            <ScheduleFacts schedule={data} />
            <div className="columns">
              <div className="stack">
                <Ticks ticks={data.ticks} />
                <Card title="Payload">
                  <Json value={data.payload} label="payload" />
                </Card>
              </div>
              <NextTicks name={name} zone={data.time_zone} />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function ScheduleFacts({ schedule }: { schedule: ScheduleStoryAnswer }) {
  const { cron, every, time_zone, status, type, next, overlap, missed, jitter, paused, error, dropped, reasons, code } = schedule
  return (
    <Card>
      <Facts>
        <Fact name="When">
          <CronWords cron={cron} every={every} zone={time_zone} />
        </Fact>
        <Fact name="State">
          <ScheduleStatus status={status} /> {paused && `by ${paused.by}${paused.why ? `: ${paused.why}` : ''}`}
          <Until until={paused?.until} />
        </Fact>
        <Fact name="Makes">
          <Link to={`/types/${encodeURIComponent(type)}`}>{type}</Link>
        </Fact>
        <Fact name="Next">
          <Moment at={next} />
        </Fact>
        <Fact name="While one still runs">{overlapWords[overlap]}</Fact>
        <Fact name="Missed ticks">{typeof missed === 'string' ? missed : JSON.stringify(missed)}</Fact>
        {jitter !== '0' && jitter !== '0ms' && <Fact name="Jitter">{jitter}</Fact>}
        {dropped && (
          <Fact name="Not made up">
            {dropped.ticks} ticks, the last <Moment at={dropped.last} />
          </Fact>
        )}
        {error && (
          <Fact name="Error">
            <span className="status" data-status="dead">
              {error.message}
            </span>{' '}
            <Moment at={error.at} />
          </Fact>
        )}
        {reasons.map(({ why, opens }) => (
          <Fact name="Waits" key={why}>
            {why}; {opens}
          </Fact>
        ))}
        {code && <Fact name="Defined by">{code.gone_since ? `a program that no longer has it` : `a program (${code.set})`}</Fact>}
      </Facts>
    </Card>
  )
}

const overlapWords = { allow: 'makes another', skip: 'skips the tick', queue: 'makes one that waits', cancel: 'cancels it' }

function NextTicks({ name, zone }: { name: string; zone: string }) {
  const preview = useAnswer<Answered<typeof previewAnswer>>(
    `admin/schedules/${pathOf(name)}/preview`,
    { count: 10 },
    { everyMs: 10_000 },
  )
  return (
    <Card title="Next ticks">
      <Loaded query={preview}>
        {({ ticks }) => (
          <Table
            label="Next ticks"
            rows={ticks}
            keyOf={({ tick }) => tick}
            empty="No tick comes any more."
            columns={[
              { name: 'At', cell: ({ tick }) => timeIn(zone, tick) },
              { name: 'That is', number: true, cell: ({ due }) => <Moment at={due} /> },
            ]}
          />
        )}
      </Loaded>
    </Card>
  )
}

function Ticks({ ticks }: { ticks: ScheduleStoryAnswer['ticks'] }) {
  return (
    <Card title="Latest ticks">
      <Table
        label="Latest ticks"
        rows={ticks}
        keyOf={({ tick, kind, job }) => `${tick} ${kind} ${job}`}
        empty="It has not ticked yet."
        columns={[
          {
            name: 'Tick',
            cell: ({ tick, job }) =>
              job === null ? (
                <Moment at={tick} />
              ) : (
                <Link to={`/jobs/${job}`}>
                  <Moment at={tick} />
                </Link>
              ),
          },
          { name: 'Kind', cell: ({ kind }) => kind },
          {
            name: 'Outcome',
            cell: ({ outcome, in_the_way }) =>
              in_the_way === null ? (
                outcome
              ) : (
                <>
                  {outcome}: <Link to={`/jobs/${in_the_way}`}>one still ran</Link>
                </>
              ),
          },
          { name: 'Job', cell: ({ status }) => (status === null ? '–' : <Status status={status} />) },
        ]}
      />
    </Card>
  )
}
