import { useAlerts, useDependencies, useFleet, useGates, useLoads, useStatus } from '../../api/answers.js'
import { Charts } from '../../charts/charts.js'
import { Loaded, Page } from '../../parts/page.js'
import { useMay } from '../../session/session.js'
import { AboutDemo } from './about-demo.js'
import { CheckUp } from './check-up.js'
import { Counters } from './counters.js'
import { InTheWay } from './in-the-way.js'
import { LanesNow } from './lanes-now.js'
import { LastChanges } from './last-changes.js'
import { NewestJobs } from './newest-jobs.js'
import { RecentErrors } from './recent-errors.js'
import { TypesNow } from './types-now.js'

/** What happens now: how much stands where, what is in the way, who works, and what came last. */
export function Overview() {
  const status = useStatus()
  const fleet = useFleet()
  const gates = useGates()
  const alerts = useAlerts()
  const loads = useLoads()
  const dependencies = useDependencies()
  const manages = useMay('workers:manage')
  const seesAudit = useMay('admin')
  return (
    <Page title="Overview">
      <div className="stack">
        {fleet.data && <AboutDemo workers={fleet.data.workers} />}
        <Loaded query={status}>{(answer) => <Counters status={answer} />}</Loaded>
        {fleet.data && gates.data && (
          <InTheWay
            fleet={fleet.data}
            gates={gates.data}
            dependencies={dependencies.data?.dependencies ?? []}
            firing={alerts.data?.firing ?? []}
          />
        )}
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
          <div className="stack">
            <RecentErrors />
            {status.data && <NewestJobs jobs={status.data.jobs} />}
            {manages && <CheckUp />}
          </div>
        </div>
      </div>
    </Page>
  )
}
