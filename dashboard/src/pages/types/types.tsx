import { type Gates, useFleet, useGates, useStatus, useTypeSeries } from '../../api/answers.js'
import { FaintIfZero } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { activityColumns } from './activity.js'
import { limitsInWords } from './limits-in-words.js'
import { PauseOrResume } from './pause.js'
import { NewType } from './settings.js'
import { TypeState } from './type-state.js'
import { WhereTimeGoes } from './where-time-goes.js'

type Row = Gates['types'][number]

/** Every job type: how much of it stands where, how it went in the last quarter of an hour, what limits it, and whether it runs at all. */
export function Types() {
  const gates = useGates()
  const status = useStatus()
  const fleet = useFleet()
  const series = useTypeSeries()
  const counts = new Map(status.data?.types.map((row) => [row.type, row]))
  const activity = new Map(series.data?.types.map((row) => [row.type, row]))
  const workers = (type: string) => fleet.data?.workers.filter(({ types }) => types.includes(type)).length ?? 1
  const counted = (name: 'pending' | 'processing' | 'failed' | 'dead') => ({
    name,
    number: true,
    cell: ({ type }: Row) => <FaintIfZero {...(counts.get(type)?.[name] ?? { count: 0 })} />,
  })
  return (
    <Page title="Job types" aside={<NewType />}>
      <div className="stack">
        <Loaded query={gates}>
          {({ types }) => (
            <Card>
              <Table
                label="Job types"
                rows={types}
                keyOf={({ type }) => type}
                empty={
                  <>
                    No job type is registered yet. A worker registers its types when it starts:{' '}
                    <code>npx holdfast work ./types.js</code>
                  </>
                }
                columns={[
                  { name: 'Type', cell: (row) => <TypeCell row={row} /> },
                  { name: 'State', cell: ({ type, gate }) => <TypeState gate={gate} workers={workers(type)} /> },
                  ...(['pending', 'processing', 'failed', 'dead'] as const).map(counted),
                  ...activityColumns(({ type }: Row) => activity.get(type)),
                ]}
                acts={({ type, gate }) => <PauseOrResume type={type} paused={gate?.paused != null} />}
              />
              <p className="foot soft">Ended, failures, ran and waited: of the attempts of the last 15 minutes.</p>
            </Card>
          )}
        </Loaded>
        <WhereTimeGoes />
      </div>
    </Page>
  )
}

/** Its name, with the lane it is in and what limits it beneath. */
function TypeCell({ row: { type, lane, gate } }: { row: Row }) {
  const limits = limitsInWords(gate)
  return (
    <>
      <Link to={`/types/${encodeURIComponent(type)}`}>{type}</Link>
      <div className="second soft">
        {lane}
        {limits !== '–' && ` · ${limits}`}
      </div>
    </>
  )
}
