import type { BatchAnswer } from '../../../../src/api/batches.js'
import { usePages } from '../../api/use.js'
import { Count } from '../../parts/count.js'
import { Filter, filterIn, Select } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { Shares } from '../../parts/shares.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { go, useRoute } from '../../routing.js'
import { BatchStatus, sharesOf } from './batch-status.js'

const fields = ['status', 'name', 'job'] as const
const statuses = { '': 'any status', running: 'running', succeeded: 'succeeded', failed: 'failed', cancelled: 'cancelled' }

/** Jobs that are watched as one: how far each batch is. */
export function Batches() {
  const { query } = useRoute()
  const filter = filterIn(query, fields)
  const change = (name: (typeof fields)[number]) => (value: string) =>
    go('/batches', { ...filter, [name]: value }, { replace: true })
  const filtered = fields.some((name) => filter[name] !== '')
  const { list, rows } = usePages<BatchAnswer, 'batches'>('batches', 'batches', { ...filter, limit: 50 })
  return (
    <Page title="Batches">
      <search className="filters">
        <Select label="Status" value={filter.status} onValue={change('status')} options={statuses} />
        <Filter label="Name" value={filter.name} onValue={change('name')} />
        <Filter label="Job" value={filter.job} onValue={change('job')} placeholder="the id of a member or callback" wide />
      </search>
      <Card>
        {list.data && (
          <Table
            label="Batches"
            rows={rows}
            keyOf={({ id }) => id}
            empty={
              filtered ? (
                <>
                  No batch is like that. <Link to="/batches">Clear the filter</Link>
                </>
              ) : (
                <>
                  No batch yet. <code>holdfast.batch({'{ jobs, onSuccess, onFailure }'})</code> makes one: any number of jobs that
                  are watched as one, and what is to happen when the last has ended.
                </>
              )
            }
            columns={[
              {
                name: 'Batch',
                cell: ({ id, name, owner }) => (
                  <>
                    <Link to={`/batches/${id}`}>{name ?? `…${id.slice(-8)}`}</Link>
                    {owner && <span className="second">{owner}</span>}
                  </>
                ),
              },
              { name: 'Status', cell: (batch) => <BatchStatus batch={batch} /> },
              { name: 'Members', cell: (batch) => <Shares label="Members by status" shares={sharesOf(batch)} /> },
              { name: 'Total', number: true, cell: ({ total }) => <Count count={total} /> },
              { name: 'Made', number: true, cell: ({ created_at }) => <Moment at={created_at} /> },
              { name: 'Ended', number: true, cell: ({ finished_at }) => <Moment at={finished_at} /> },
            ]}
          />
        )}
        <More list={list} />
      </Card>
    </Page>
  )
}
