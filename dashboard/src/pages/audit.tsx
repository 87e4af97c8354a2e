import { useMemo } from 'react'
import type { auditAnswer } from '../../../src/api/admin.js'
import { writeExactly } from '../api/json.js'
import { type Answered, usePages } from '../api/use.js'
import { Diff } from '../parts/diff.js'
import { Filter, filterIn, Select } from '../parts/filter.js'
import { Link } from '../parts/link.js'
import { More } from '../parts/more.js'
import { Card, Page } from '../parts/page.js'
import { Table } from '../parts/table.js'
import { exactTime, Moment } from '../parts/time.js'
import { go, useRoute } from '../routing.js'
import { targetOf } from './audit-target.js'

type Line = Answered<typeof auditAnswer>['lines'][number]
const fields = ['actor', 'action', 'target', 'since'] as const

const ages: Readonly<Record<string, number>> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 }
const ageWords = { '': 'at any time', '1h': 'in the last hour', '24h': 'in the last day', '7d': 'in the last 7 days' }

/** Who did what, from where, when and why. Lines are never changed. */
export function Audit() {
  const { query } = useRoute()
  const filter = filterIn(query, fields)
  const { since, ...asked } = filter
  const age = ages[since]
  const from = useMemo(() => (age === undefined ? undefined : new Date(Date.now() - age).toISOString()), [age])
  const { list, rows } = usePages<Line, 'lines'>('admin/audit', 'lines', { ...asked, from, limit: 100 })
  const change = (name: (typeof fields)[number]) => (value: string) =>
    go('/audit', { ...filter, [name]: value }, { replace: true })
  const filtered = fields.some((name) => filter[name] !== '')
  return (
    <Page title="Audit log" aside={filtered && <Link to="/audit">clear the filter</Link>}>
      <search className="filters">
        <Select label="When" value={since} onValue={change('since')} options={ageWords} />
        <Filter label="Who" value={filter.actor} onValue={change('actor')} known={[...new Set(rows.map(({ actor }) => actor))]} />
        <Filter
          label="Action"
          value={filter.action}
          onValue={change('action')}
          known={[...new Set(rows.map(({ action }) => action))]}
        />
        <Filter
          label="Target"
          value={filter.target}
          onValue={change('target')}
          placeholder="target: a type, lane, or the id of a job"
          wide
        />
      </search>
      <Card>
        {list.data && (
          <Table
            label="Audit log"
            rows={rows}
            keyOf={({ id }) => id}
            empty={
              filtered
                ? 'No line is like that.'
                : 'Nobody has changed anything yet. Every change that a person makes is kept here.'
            }
            columns={[
              { name: 'When', cell: ({ at }) => <Moment at={at} /> },
              {
                name: 'Who',
                cell: ({ actor, origin }) => (
                  <>
                    {actor}
                    {origin && <span className="second">{origin}</span>}
                  </>
                ),
              },
              { name: 'Action', cell: ({ action }) => action.replaceAll('_', ' ') },
              { name: 'Target', cell: (line) => targetOf(line) ?? '–' },
              { name: 'Why', cell: ({ why }) => why ?? '–' },
              { name: 'Change', cell: (line) => <Change line={line} /> },
            ]}
          />
        )}
        <More list={list} />
      </Card>
    </Page>
  )
}

/** What it was before and after, where that was written down. */
function Change({ line: { at, before, after } }: { line: Line }) {
  const [was, is] = [before, after].map((value) => (value === null ? '' : writeExactly(value, '  ')))
  if (was === is) return '–'
  return (
    <details>
      <summary>show</summary>
      <p className="soft">{exactTime(at)}</p>
      <Diff before={was ?? ''} after={is ?? ''} />
    </details>
  )
}
