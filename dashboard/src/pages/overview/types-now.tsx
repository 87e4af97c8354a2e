import type { StatusAnswer } from '../../../../src/api/status.js'
import type { Fleet } from '../../api/answers.js'
import { FaintIfZero } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { inWords } from '../../parts/time.js'

type Row = StatusAnswer['types'][number]

/** How much of each type stands where; every number leads to the jobs it counts. */
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
    <Card title="Job types" aside={<Link to="/types">limits and breakers</Link>}>
      <Table
        label="Job types"
        rows={types}
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
