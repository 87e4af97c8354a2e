import type { ErrorGroupAnswer } from '../../../../src/api/errors.js'
import { useAnswer } from '../../api/use.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { Spark } from '../errors/spark.js'

/** What went wrong last, one line for all failures that are the same. */
export function RecentErrors() {
  const groups = useAnswer<{ groups: ErrorGroupAnswer[] }>('errors', { limit: 5 }, { everyMs: 5_000 })
  return (
    <Card title="Errors lately" aside={<Link to="/errors">all</Link>}>
      <Loaded query={groups}>
        {({ groups: rows }) => (
          <Table
            label="Errors lately"
            rows={rows}
            keyOf={({ type, fingerprint }) => `${type} ${fingerprint}`}
            empty="No attempt failed in the last 7 days."
            columns={[
              {
                name: 'Error',
                cell: ({ name, type, message, fingerprint }) => (
                  <>
                    <Link to={`/errors/${fingerprint}`} query={{ type }}>
                      {name ?? 'an error'}
                    </Link>
                    <span className="soft"> in {type}</span>
                    <span className="second">{message ?? 'no example is kept'}</span>
                  </>
                ),
              },
              { name: '7 days', cell: ({ days }) => <Spark days={days} over={7} /> },
              {
                name: 'Failures',
                number: true,
                cell: ({ count, fingerprint, type }) => (
                  <Link to="/jobs" query={{ error_group: fingerprint, type }}>
                    <Count count={count} />
                  </Link>
                ),
              },
              { name: 'Last', number: true, cell: ({ last_at }) => <Moment at={last_at} /> },
            ]}
          />
        )}
      </Loaded>
    </Card>
  )
}
