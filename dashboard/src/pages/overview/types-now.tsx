import type { StatusAnswer } from '../../../../src/api/status.js'
import type { Fleet } from '../../api/answers.js'
import { FaintIfZero } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { inWords } from '../../parts/time.js'

type Row = StatusAnswer['types'][number]

const shownAtMost = 10

/** How much of each type stands where, the busiest first; every number leads to the jobs it counts. */
export function TypesNow({ types, depths }: { types: readonly Row[]; depths: Fleet['depths'] }) {
  const oldest = new Map(depths.map(({ type, oldest_ms }) => [type, oldest_ms]))
  const counted = (name: 'pending' | 'processing' | 'failed' | 'dead') => ({
    name,
    number: true,
    cell: (row: Row) => (
      <Link
        to={name === 'dead' ? '/dead' : '/jobs'}
        query={name === 'dead' ? { type: row.type } : { type: row.type, status: name }}
      >
        <FaintIfZero {...row[name]} />
      </Link>
    ),
  })
  return (
    <Card
      title="Job types"
      aside={<Link to="/types">{types.length > shownAtMost ? `all ${types.length}` : 'limits and breakers'}</Link>}
    >
      <Table
        label="Job types"
        rows={busiest(types)}
        keyOf={({ type }) => type}
        empty="No job type is registered yet. A worker registers its types when it starts."
        columns={[
          { name: 'Type', cell: ({ type }) => <Link to={`/types/${encodeURIComponent(type)}`}>{type}</Link> },
          ...(['pending', 'processing', 'failed', 'dead'] as const).map(counted),
          {
            name: 'oldest waits',
            number: true,
            cell: ({ type }) => (typeof oldest.get(type) === 'number' ? inWords(oldest.get(type) as number) : '–'),
          },
        ]}
      />
    </Card>
  )
}

function busiest(types: readonly Row[]): readonly Row[] {
  const live = ({ pending, processing, failed }: Row) => pending.count + processing.count + failed.count
  return [...types].sort((one, other) => live(other) - live(one) || other.dead.count - one.dead.count).slice(0, shownAtMost)
}
