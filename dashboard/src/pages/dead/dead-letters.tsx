import { useMemo } from 'react'
import type { LetterAnswer, ManyBody } from '../../../../src/api/dlq.js'
import { useGates } from '../../api/answers.js'
import { usePages } from '../../api/use.js'
import { BulkAct, type Offer, offerOf, replayOffer } from '../../parts/bulk-act.js'
import { Filter, filterIn, Select } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { go, useRoute } from '../../routing.js'
import { errorText } from './error-text.js'
import { LetterGroups } from './letter-groups.js'
import { MoveMany } from './move-many.js'

const fields = ['type', 'reason', 'since', 'error', 'tags', 'batch'] as const
type Field = (typeof fields)[number]

export const reasonWords = {
  exhausted: 'no attempts left',
  fatal: 'fatal error',
  poison: 'crashed its workers',
  expired: 'too late to start',
  buried: 'buried by somebody',
}
const reasons = { '': 'any reason', ...reasonWords }
const ages: Readonly<Record<string, number>> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 }
const ageWords = { '': 'died at any time', '1h': 'in the last hour', '24h': 'in the last day', '7d': 'in the last 7 days' }

/** Jobs that failed for good: what they have in common, one by one, and what to do about them. */
export function DeadLetters() {
  const { query } = useRoute()
  const filter = filterIn(query, fields)
  const age = ages[filter.since]
  const diedFrom = useMemo(() => (age === undefined ? undefined : new Date(Date.now() - age).toISOString()), [age])
  const asked = askedBy(filter, diedFrom)
  const { list, rows } = usePages<LetterAnswer, 'letters'>('admin/dlq', 'letters', { ...asked, limit: 100 })
  const types = useGates()
  const change = (name: Field) => (value: string) => go('/dead', { ...filter, [name]: value }, { replace: true })
  const filtered = fields.some((name) => filter[name] !== '')
  const sensitive = types.data?.types.filter((one) => one.sensitive).map(({ type }) => type) ?? []
  return (
    <Page
      title="Dead letters"
      aside={
        <>
          {filtered && <Link to="/dead">clear the filter</Link>}
          {rows.length > 0 && <MoveFitting filter={asked} sensitive={sensitive} everyone={!filtered} />}
        </>
      }
    >
      <search className="filters">
        <Filter
          label="Type"
          value={filter.type}
          onValue={change('type')}
          known={types.data?.types.map(({ type }) => type) ?? []}
        />
        <Select label="Reason" value={filter.reason} onValue={change('reason')} options={reasons} />
        <Select label="Died" value={filter.since} onValue={change('since')} options={ageWords} />
        <Filter label="Tags" value={filter.tags} onValue={change('tags')} />
        <Filter label="Batch or execution" value={filter.batch} onValue={change('batch')} placeholder="id of a batch" />
        <Filter label="Error holds" value={filter.error} onValue={change('error')} placeholder="error holds" wide />
      </search>
      <div className="stack">
        {rows.length > 0 && onlyType(filter) && <LetterGroups type={filter.type} sensitive={sensitive} />}
        <Card title={rows.length > 0 ? 'One by one' : undefined}>
          {list.data && <Letters letters={rows} filtered={filtered} />}
          <More list={list} />
        </Card>
      </div>
    </Page>
  )
}

/** The groups are counted by type and nothing else. */
const onlyType = (filter: Readonly<Record<Field, string>>) => fields.every((name) => name === 'type' || filter[name] === '')

interface MoveFittingProps {
  readonly filter: ManyBody['filter']
  readonly sensitive: readonly string[]
  readonly everyone: boolean
}

/** All that fit the filter: by a bulk action, but for a reason or a text of an error, by which only dead letters are searched. */
function MoveFitting({ filter, sensitive, everyone }: MoveFittingProps) {
  const { type, tags, reason, error, batch, died_from } = filter
  if (reason !== undefined || error !== undefined) return <MoveMany filter={filter} sensitive={sensitive} />
  const which = { filter: { status: 'dead' as const, ...defined({ type, tags, batch, ended_after: died_from }) } }
  const confirm = sensitive.find((name) => name === type)
  const of = everyone ? 'all dead letters' : 'the dead letters that fit the filter'
  const named = (offer: Offer): Offer => ({ ...offer, name: everyone ? `${offer.name} all` : offer.name })
  return (
    <>
      <BulkAct offer={named(replayOffer)} which={which} of={of} {...(confirm !== undefined && { confirm })} />
      <BulkAct offer={named(offerOf('discard'))} which={which} of={of} />
    </>
  )
}

const defined = (values: object) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

function askedBy(
  { type, reason, error, tags, batch }: Readonly<Record<Field, string>>,
  diedFrom: string | undefined,
): ManyBody['filter'] {
  const listed = tags.split(/[\s,]+/).filter(Boolean)
  return {
    ...(type && { type }),
    ...(reason && { reason: reason as keyof typeof reasonWords }),
    ...(error && { error }),
    ...(listed.length > 0 && { tags: listed }),
    ...(batch && { batch }),
    ...(diedFrom && { died_from: diedFrom }),
  }
}

function Letters({ letters, filtered }: { letters: readonly LetterAnswer[]; filtered: boolean }) {
  return (
    <Table
      label="Dead letters"
      rows={letters}
      keyOf={({ id }) => id}
      empty={
        filtered ? (
          <>
            No dead letter is like that. <Link to="/dead">Clear the filter</Link>
          </>
        ) : (
          'No job has failed for good. One that runs out of attempts, or throws an error that no retry can help, waits here for a decision.'
        )
      }
      columns={[
        {
          name: 'Job',
          cell: ({ id, type, error }) => (
            <>
              <Link to={`/jobs/${id}`}>{type}</Link> <span className="mono soft">…{id.slice(-8)}</span>
              <span className="second">{errorText(error)}</span>
            </>
          ),
        },
        { name: 'Reason', cell: ({ reason }) => reasonWords[reason] },
        { name: 'Attempts', number: true, cell: ({ attempt, max_attempts }) => `${attempt}/${max_attempts}` },
        { name: 'Enqueued', number: true, cell: ({ created_at }) => <Moment at={created_at} /> },
        { name: 'Died', number: true, cell: ({ died_at }) => <Moment at={died_at} /> },
      ]}
    />
  )
}
