import { type StatusAnswer, shownStatuses } from '../../../../src/api/status.js'
import { useAlerts, useFleet, useGates, useLoads, useStatus } from '../../api/answers.js'
import { Charts } from '../../charts/charts.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Loaded, Page } from '../../parts/page.js'
import { Status } from '../../parts/status.js'
import { inWords } from '../../parts/time.js'
import { useMay } from '../../session/session.js'
import { AboutDemo } from './about-demo.js'
import { InTheWay } from './in-the-way.js'
import { LanesNow } from './lanes-now.js'
import { LastChanges } from './last-changes.js'
import { NewestJobs } from './newest-jobs.js'
import { TypesNow } from './types-now.js'

/** What happens now: how much stands where, what is in the way, who works, and what came last. */
export function Overview() {
  const status = useStatus()
  const fleet = useFleet()
  const gates = useGates()
  const alerts = useAlerts()
  const loads = useLoads()
  const seesAudit = useMay('admin')
  return (
    <Page title="Overview">
      <div className="stack">
        {fleet.data && <AboutDemo workers={fleet.data.workers} />}
        <Loaded query={status}>
          {({ counts, completed_within_s }) => <Counters counts={counts} within={completed_within_s} />}
        </Loaded>
        {fleet.data && gates.data && <InTheWay fleet={fleet.data} gates={gates.data} firing={alerts.data?.firing ?? []} />}
        <Charts />
        <div className="columns">
          <div className="stack">
            {fleet.data && loads.data && (
              <LanesNow
                lanes={fleet.data.lanes}
                loads={loads.data.lanes}
                wanted={loads.data.workers}
                alive={fleet.data.workers.length}
              />
            )}
            {status.data && <TypesNow types={status.data.types} depths={fleet.data?.depths ?? []} />}
            {seesAudit && <LastChanges />}
          </div>
          {status.data && <NewestJobs jobs={status.data.jobs} />}
        </div>
      </div>
    </Page>
  )
}

const explained = {
  pending: 'due, wait for a worker',
  processing: 'a worker runs them',
  failed: 'will be tried again',
  dead: 'failed for good',
  completed: 'lately',
  scheduled: 'wait for their time',
  blocked: 'wait for a signal or job',
}

function Counters({ counts, within }: { counts: StatusAnswer['counts']; within: number }) {
  return (
    <section className="counters" aria-label="Jobs by status">
      {shownStatuses.map((name) => (
        <Link
          {...(name === 'dead' ? { to: '/dead' } : { to: '/jobs', query: { status: name } })}
          key={name}
          className={counts[name].count === 0 ? 'none' : ''}
        >
          <Status status={name} />
          <b>
            <Count {...counts[name]} />
          </b>
          <small>{name === 'completed' ? `of the last ${inWords(within * 1_000)}` : explained[name]}</small>
        </Link>
      ))}
    </section>
  )
}
