import { useMemo } from 'react'
import type { BulkBody } from '../../../../src/api/bulk.js'
import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { statuses } from '../../../../src/job/state.js'
import { useFleet, useGates } from '../../api/answers.js'
import { parseExactly } from '../../api/json.js'
import { usePages } from '../../api/use.js'
import { filterIn } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { exactTime } from '../../parts/time.js'
import { go, useRoute } from '../../routing.js'
import { useMay } from '../../session/session.js'
import { BulkBar } from './bulk-bar.js'
import { ColumnPicker, useColumns } from './columns.js'
import { HowToEnqueue } from './how-to-enqueue.js'
import { JobTable } from './job-table.js'
import { QueryBar } from './query-bar.js'
import { filterFields, type JobFilter, timesOf } from './query-text.js'
import { useSelection } from './selection.js'
import { StatusTabs } from './status-tabs.js'
import { TimeRange } from './time-range.js'

/** The jobs that a filter names, newest first. The filter is the address, so that a link shows the next reader the same. */
export function Jobs() {
  const { query } = useRoute()
  const filter = filterIn(query, filterFields)
  const { status, ...rest } = useAsked(filter)
  const { list, rows, settled } = usePages<JobSummaryAnswer, 'jobs'>('jobs', 'jobs', { ...rest, status, limit: 50 })
  const selection = useSelection(
    rows.map(({ id }) => id),
    // Until the rows of a new filter are there, those of the one before are shown: what is chosen of them is not meant for the new.
    JSON.stringify([filter, list.isPlaceholderData]),
  )
  const chosen = rows.filter(({ id }) => selection.ids.has(id))
  // Of one that the list does not show any more nobody here knows the status.
  const statuses = chosen.length === selection.ids.size ? chosen.map(({ status: its }) => its) : undefined
  const [columns, toggleColumn] = useColumns()
  const known = useKnown()
  const change = (values: Partial<JobFilter>) => go('/jobs', { ...filter, ...values }, { replace: true })
  const filtered = filterFields.some((name) => filter[name] !== '')
  return (
    <Page title="Jobs" aside={filtered && <Link to="/jobs">clear the filter</Link>}>
      <StatusTabs filter={filter} asked={rest} />
      <search className="filters">
        <QueryBar filter={filter} onFilter={change} known={known} />
        <TimeRange filter={filter} change={change} />
        <ColumnPicker shown={columns} toggle={toggleColumn} />
      </search>
      <BulkBar selection={selection} filter={bulkFilter({ ...rest, status })} statuses={statuses} />
      <Card>
        {(rows.length > 0 || settled) && (
          <JobTable
            label="Jobs"
            jobs={rows}
            shown={columns}
            selection={selection}
            empty={filtered ? <NoneLikeThat back={list.data?.pages.at(-1)?.looked_back_to ?? null} /> : <HowToEnqueue />}
          />
        )}
        <More list={list} settled={settled} />
      </Card>
    </Page>
  )
}

/** What the filter asks of the server. Ages are reckoned from when they were asked for, so that the list keeps its beginning. */
function useAsked({ age, ended, from, to, tags, ...same }: JobFilter) {
  const times = useMemo(() => timesOf({ age, ended, from, to }, Date.now()), [age, ended, from, to])
  return { ...same, tags: tags.split(/\s+/).filter(Boolean), ...times }
}

/** The values that the filter suggests. */
function useKnown() {
  const enabled = useMay('workers:view')
  const types = useGates({ enabled }).data?.types.map(({ type }) => type) ?? []
  const lanes = useFleet({ enabled }).data?.lanes.map(({ name }) => name) ?? []
  return { status: Object.keys(statuses), type: types, lane: lanes }
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
function bulkFilter(asked: Readonly<Record<string, string | readonly string[] | undefined>>): NonNullable<BulkBody['filter']> {
  const { payload, ...rest } = asked
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
