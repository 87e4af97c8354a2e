import type { ScheduleAnswer } from '../../../../src/api/schedules.js'
import { usePages } from '../../api/use.js'
import { CronWords } from '../../parts/cron-words.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { NewSchedule } from './new-schedule.js'
import { PauseSchedule, RunNow } from './schedule-acts.js'
import { ScheduleStatus } from './schedule-status.js'

/** Everything that makes jobs by the clock: when, what, and when next. */
export function Schedules() {
  const { list, rows } = usePages<ScheduleAnswer, 'schedules'>(
    'admin/schedules',
    'schedules',
    { limit: 100 },
    { cursor: 'after' },
  )
  return (
    <Page title="Schedules" aside={<NewSchedule />}>
      <Card>
        {list.data && (
          <Table
            label="Schedules"
            rows={rows}
            keyOf={({ name }) => name}
            empty={
              <>
                Nothing runs by the clock yet. A program defines schedules with{' '}
                <code>defineSchedule({'{ name, type, cron }'})</code> and gives them to its worker; the button above makes one by
                hand.
              </>
            }
            columns={[
              {
                name: 'Schedule',
                cell: ({ name, type }) => (
                  <>
                    <Link to={`/schedules/${encodeURIComponent(name)}`}>{name}</Link>
                    <span className="second">{type}</span>
                  </>
                ),
              },
              { name: 'When', cell: ({ cron, every, time_zone }) => <CronWords cron={cron} every={every} zone={time_zone} /> },
              { name: 'State', cell: ({ status }) => <ScheduleStatus status={status} /> },
              { name: 'Next', number: true, cell: ({ next }) => <Moment at={next} /> },
              {
                name: 'Last',
                number: true,
                cell: ({ last_tick, last_job }) =>
                  last_job === null ? (
                    <Moment at={last_tick} />
                  ) : (
                    <Link to={`/jobs/${last_job}`}>
                      <Moment at={last_tick} />
                    </Link>
                  ),
              },
            ]}
            acts={(schedule) => (
              <>
                <RunNow name={schedule.name} />
                <PauseSchedule schedule={schedule} />
              </>
            )}
          />
        )}
        <More list={list} />
      </Card>
    </Page>
  )
}
