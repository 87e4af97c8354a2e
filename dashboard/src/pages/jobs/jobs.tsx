import { useMemo } from 'react'
import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { statuses } from '../../../../src/job/state.js'
import { useGates } from '../../api/answers.js'
import { usePages } from '../../api/use.js'
import { Filter, filterIn, Select } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { statusWords } from '../../parts/status.js'
import { go, usePlace } from '../../routing.js'
import { useMay } from '../../session/session.js'
import { HowToEnqueue } from './how-to-enqueue.js'
import { JobTable } from './job-table.js'

const fields = ['status', 'type', 'since', 'tags', 'owner', 'payload'] as const
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
        <Filter label="Tags" value={tags} onValue={change('tags')} />
        <Filter label="Service" value={filter.owner} onValue={change('owner')} />
        <Filter
          label="Payload holds"
          value={filter.payload}
          onValue={change('payload')}
          placeholder='payload holds {"tenant":7}'
          wide
        />
      </search>
      <Card>
        {(rows.length > 0 || settled) && (
          <JobTable label="Jobs" jobs={rows} empty={filtered ? <NoneLikeThat more={list.hasNextPage} /> : <HowToEnqueue />} />
        )}
        <More list={list} settled={settled} />
      </Card>
    </Page>
  )
}

/** One request looks at so many jobs only: a page without a row need not be the end. */
function NoneLikeThat({ more }: { more: boolean }) {
  if (more)
    return <>None of the newest jobs is like that. The server looks at a few thousand at a time: “More” looks further back.</>
  return (
    <>
      No job is like that. <Link to="/jobs">Clear the filter</Link>
    </>
  )
}
