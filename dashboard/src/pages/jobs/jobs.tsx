import { useMemo } from 'react'
import type { BulkBody } from '../../../../src/api/bulk.js'
import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { statuses } from '../../../../src/job/state.js'
import { useGates } from '../../api/answers.js'
import { parseExactly } from '../../api/json.js'
import { usePages } from '../../api/use.js'
import { Filter, filterIn, Select } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { statusWords } from '../../parts/status.js'
import { exactTime } from '../../parts/time.js'
import { go, usePlace } from '../../routing.js'
import { useMay } from '../../session/session.js'
import { BulkBar } from './bulk-bar.js'
import { HowToEnqueue } from './how-to-enqueue.js'
import { JobTable } from './job-table.js'
import { useSelection } from './selection.js'

const fields = [
  'status',
  'type',
  'since',
  'lane',
  'concurrency_key',
  'tags',
  'owner',
  'payload',
  'text',
  'error_group',
  'batch',
] as const
type Field = (typeof fields)[number]

const ages: Readonly<Record<string, number>> = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 }
const ageWords = {
  '': 'of any time',
  '15m': 'of the last 15 minutes',
  '1h': 'of the last hour',
  '24h': 'of the last day',
  '7d': 'of the last 7 days',
}
const statusOptions = {
  '': 'any status',
  ...Object.fromEntries(Object.keys(statuses).map((name) => [name, statusWords[name as keyof typeof statuses]])),
}

/** The jobs that a filter names, newest first. The filter is the address, so that a link shows the next reader the same. */
export function Jobs() {
  const { query } = usePlace()
  const filter = filterIn(query, fields)
  const { since, tags, ...asked } = filter
  const age = ages[since]
  const createdAfter = useMemo(() => (age === undefined ? undefined : new Date(Date.now() - age).toISOString()), [age])
  const given = { ...asked, tags: tags.split(/[\s,]+/).filter(Boolean), created_after: createdAfter, limit: 50 }
  const { list, rows, settled } = usePages<JobSummaryAnswer, 'jobs'>('jobs', 'jobs', given)
  const selection = useSelection(
    rows.map(({ id }) => id),
    JSON.stringify(filter),
  )
  const chosen = rows.filter(({ id }) => selection.ids.has(id))
  // Of one that the list does not show any more nobody here knows the status.
  const statuses = chosen.length === selection.ids.size ? chosen.map(({ status }) => status) : undefined
  const types = useGates({ enabled: useMay('workers:view') })
  const change = (name: Field) => (value: string) => go('/jobs', { ...filter, [name]: value }, { replace: true })
  const filtered = fields.some((name) => filter[name] !== '')
  return (
    <Page title="Jobs" aside={filtered && <Link to="/jobs">clear the filter</Link>}>
      <search className="filters">
        <Select label="Status" value={filter.status} onValue={change('status')} options={statusOptions} />
        <Filter
          label="Type"
          value={filter.type}
          onValue={change('type')}
          known={types.data?.types.map(({ type }) => type) ?? []}
        />
        <Select label="Enqueued" value={since} onValue={change('since')} options={ageWords} />
        <Filter label="Lane" value={filter.lane} onValue={change('lane')} />
        <Filter label="Key" value={filter.concurrency_key} onValue={change('concurrency_key')} />
        <Filter label="Tags" value={tags} onValue={change('tags')} />
        <Filter label="Service" value={filter.owner} onValue={change('owner')} />
        <Filter
          label="Payload holds"
          value={filter.payload}
          onValue={change('payload')}
          placeholder='payload holds {"tenant":7}'
          wide
        />
        <Filter label="Text" value={filter.text} onValue={change('text')} placeholder="text in keys, errors or payload" wide />
        <Filter label="Error group" value={filter.error_group} onValue={change('error_group')} />
        <Filter label="Batch" value={filter.batch} onValue={change('batch')} />
      </search>
      <BulkBar selection={selection} filter={bulkFilter(given)} statuses={statuses} />
      <Card>
        {(rows.length > 0 || settled) && (
          <JobTable
            label="Jobs"
            jobs={rows}
            selection={selection}
            empty={filtered ? <NoneLikeThat back={list.data?.pages.at(-1)?.looked_back_to ?? null} /> : <HowToEnqueue />}
          />
        )}
        <More list={list} settled={settled} />
      </Card>
    </Page>
  )
}

/** One request looks at so many jobs only: a page without a row need not be the end. */
function NoneLikeThat({ back }: { back: string | null }) {
  if (back !== null) return <>None since {exactTime(back)} is like that. “More” looks further back.</>
  return (
    <>
      No job is like that. <Link to="/jobs">Clear the filter</Link>
    </>
  )
}

/** The filter of the page as bulk actions take it. What is no JSON is refused there as here. */
function bulkFilter(
  asked: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): NonNullable<BulkBody['filter']> {
  const { limit: _, payload, ...rest } = asked
  const given = Object.entries(rest).filter(
    ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
  const holds = typeof payload === 'string' && payload !== '' ? { payload: parsedOr(payload) } : {}
  const filter = { ...Object.fromEntries(given), ...holds }
  return Object.keys(filter).length === 0 ? { all: true } : filter
}

function parsedOr(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}
