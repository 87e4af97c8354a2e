import { useMemo } from 'react'
import type { ErrorGroupAnswer } from '../../../../src/api/errors.js'
import { useAnswer } from '../../api/use.js'
import { BulkAct, offerOf, replayOffer } from '../../parts/bulk-act.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { Spark } from '../errors/spark.js'

interface LetterGroupsProps {
  /** Only letters of this type; empty: of all. */
  readonly type: string
  /** Types whose replay has to be confirmed. */
  readonly sensitive: readonly string[]
}

const over = 14
const groupsAtMost = 50
const dayMs = 86_400_000

/** All dead letters by what they died of, those of the most failures first. A thousand failures are mostly three errors. */
export function LetterGroups({ type, sensitive }: LetterGroupsProps) {
  const since = useMemo(() => new Date(Date.now() - 30 * dayMs).toISOString(), [])
  const asked = { dead: true, sort: 'count', since, type, limit: groupsAtMost }
  const groups = useAnswer<{ groups: ErrorGroupAnswer[] }>('errors', asked, { everyMs: 5_000 })
  return (
    <Card title="By type and error" aside={<Link to="/errors">all errors, also of jobs that recovered</Link>}>
      <Loaded query={groups}>
        {({ groups: rows }) => (
          <Table
            label="By type and error"
            rows={rows}
            keyOf={({ type: of, fingerprint }) => `${of} ${fingerprint}`}
            empty="No dead letter failed with an error that is grouped: each was buried by somebody, or expired, before it ran."
            columns={[
              {
                name: 'Error',
                cell: (group) => (
                  <>
                    <Link to={`/errors/${group.fingerprint}`} query={{ type: group.type }}>
                      {group.name ?? 'an error'}
                    </Link>
                    <span className="soft"> in {group.type}</span>
                    <span className="second">{group.message ?? 'no example is kept'}</span>
                  </>
                ),
              },
              { name: 'Failures a day', cell: ({ days }) => <Spark days={days} over={over} /> },
              {
                name: 'Letters',
                number: true,
                cell: (group) => (
                  <Link to="/jobs" query={{ status: 'dead', type: group.type, error_group: group.fingerprint }}>
                    <Count {...group.dead} />
                  </Link>
                ),
              },
              { name: 'First seen', number: true, cell: ({ first_at }) => <Moment at={first_at} /> },
              { name: 'Last seen', number: true, cell: ({ last_at }) => <Moment at={last_at} /> },
            ]}
            acts={(group) => <MoveGroup group={group} sensitive={sensitive.includes(group.type)} />}
          />
        )}
      </Loaded>
    </Card>
  )
}

/** By a bulk action: the server counts first, and the pace can be bounded. */
function MoveGroup({ group: { fingerprint, type }, sensitive }: { group: ErrorGroupAnswer; sensitive: boolean }) {
  const which = { filter: { status: 'dead', type, error_group: fingerprint } } as const
  const of = `the dead letters of this group in ${type}`
  return (
    <>
      <BulkAct offer={replayOffer} which={which} of={of} {...(sensitive && { confirm: type })} />
      <BulkAct offer={offerOf('discard')} which={which} of={of} />
    </>
  )
}
