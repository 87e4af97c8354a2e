import { useMemo } from 'react'
import type { ErrorGroupAnswer } from '../../../../src/api/errors.js'
import { useGates } from '../../api/answers.js'
import { useAnswer } from '../../api/use.js'
import { Filter, filterIn, Select } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { go, useRoute } from '../../routing.js'
import { GroupTable } from './group-table.js'

const fields = ['type', 'since', 'sort'] as const
type Field = (typeof fields)[number]

const dayMs = 86_400_000
const ages: Readonly<Record<string, number>> = { '1d': 1, '': 7, '30d': 30 }
const ageWords = { '1d': 'since yesterday', '': 'in the last 7 days', '30d': 'in the last 30 days' }
const sortWords = { '': 'the latest first', count: 'the most first' }

/** What goes wrong: a thousand failures are mostly three errors. */
export function Errors() {
  const { query } = useRoute()
  const filter = filterIn(query, fields)
  const over = ages[filter.since] ?? 7
  const since = useMemo(() => new Date(Date.now() - over * dayMs).toISOString(), [over])
  const groups = useAnswer<{ groups: ErrorGroupAnswer[] }>(
    'errors',
    { type: filter.type, sort: filter.sort, since },
    { everyMs: 5_000 },
  )
  const types = useGates()
  const change = (name: Field) => (value: string) => go('/errors', { ...filter, [name]: value }, { replace: true })
  const filtered = fields.some((name) => filter[name] !== '')
  return (
    <Page title="Errors" aside={filtered && <Link to="/errors">clear the filter</Link>}>
      <search className="filters">
        <Filter
          label="Type"
          value={filter.type}
          onValue={change('type')}
          known={types.data?.types.map(({ type }) => type) ?? []}
        />
        <Select label="Seen" value={filter.since} onValue={change('since')} options={ageWords} />
        <Select label="Order" value={filter.sort} onValue={change('sort')} options={sortWords} />
      </search>
      <Card>
        <Loaded query={groups}>
          {({ groups: rows }) => (
            <GroupTable
              groups={rows}
              over={Math.max(over, 7)}
              empty={
                filtered ? (
                  <>
                    No attempt failed like that. <Link to="/errors">Clear the filter</Link>
                  </>
                ) : (
                  'No attempt failed in the last 7 days. Failures that differ only in numbers, ids and names will stand here as one, with how many there were each day.'
                )
              }
            />
          )}
        </Loaded>
      </Card>
    </Page>
  )
}
