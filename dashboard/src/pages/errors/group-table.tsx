import type { ReactNode } from 'react'
import type { ErrorGroupAnswer } from '../../../../src/api/errors.js'
import { useGates } from '../../api/answers.js'
import { BulkAct, offerOf } from '../../parts/bulk-act.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { Spark } from './spark.js'

interface GroupTableProps {
  readonly groups: readonly ErrorGroupAnswer[]
  /** How many days the bars are about. */
  readonly over: number
  readonly empty: ReactNode
  /** All are of one type, which the page names. */
  readonly ofOneType?: boolean
}

/** Error groups with what can be done about each. */
export function GroupTable({ groups, over, empty, ofOneType = false }: GroupTableProps) {
  return (
    <Table
      label="Error groups"
      rows={groups}
      keyOf={({ type, fingerprint }) => `${type} ${fingerprint}`}
      empty={empty}
      columns={[
        {
          name: 'Error',
          cell: (group) => (
            <>
              <Link to={`/errors/${group.fingerprint}`} query={{ type: group.type }}>
                {group.name ?? 'an error'}
              </Link>
              {!ofOneType && <span className="soft"> in {group.type}</span>}
              <span className="second">{group.message ?? 'no example is kept'}</span>
            </>
          ),
        },
        { name: 'Failures a day', cell: ({ days }) => <Spark days={days} over={over} /> },
        { name: 'Failures', number: true, cell: ({ count }) => <Count count={count} /> },
        { name: 'First seen', number: true, cell: ({ first_at }) => <Moment at={first_at} /> },
        { name: 'Last seen', number: true, cell: ({ last_at }) => <Moment at={last_at} /> },
      ]}
      acts={(group) => <GroupActs group={group} />}
    />
  )
}

/** Retries or discards the jobs of a group, in the background; the server counts them first. */
export function GroupActs({ group: { fingerprint, type } }: { group: ErrorGroupAnswer }) {
  const which = { filter: { error_group: fingerprint, type } }
  const sensitive = useGates().data?.types.some((one) => one.type === type && one.sensitive) ?? false
  return (
    <>
      <BulkAct
        offer={offerOf('retry')}
        which={which}
        of={`the jobs of this group in ${type}`}
        {...(sensitive && { confirm: type })}
      />
      <BulkAct offer={offerOf('discard')} which={which} of={`the dead jobs of this group in ${type}`} />
    </>
  )
}
