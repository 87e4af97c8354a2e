import type { auditAnswer } from '../../../../src/api/admin.js'
import { type Answered, useAnswer } from '../../api/use.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { targetOf } from '../audit-target.js'

/** What people changed last: the first thing to look at when something is different from yesterday. */
export function LastChanges() {
  const audit = useAnswer<Answered<typeof auditAnswer>>('admin/audit', { limit: 6 }, { everyMs: 5_000 })
  return (
    <Card title="What people changed last" aside={<Link to="/audit">all</Link>}>
      <Loaded query={audit}>
        {({ lines }) => (
          <Table
            label="What people changed last"
            rows={lines}
            keyOf={({ id }) => id}
            empty="Nobody has changed anything yet. Who changes something later stands here, with the reason they gave."
            columns={[
              {
                name: 'What',
                cell: (line) => (
                  <>
                    {line.action.replaceAll('_', ' ')} {targetOf(line)}
                    {line.why && <span className="second">{line.why}</span>}
                  </>
                ),
              },
              { name: 'Who', cell: ({ actor }) => actor },
              { name: 'When', number: true, cell: ({ at }) => <Moment at={at} /> },
            ]}
          />
        )}
      </Loaded>
    </Card>
  )
}
