import type { depthsAnswer } from '../../../../src/api/flow.js'
import { ask } from '../../api/ask.js'
import { type Answered, useAnswer } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Count } from '../../parts/count.js'
import { Choice, Field, given, numberOrNull } from '../../parts/fields.js'
import { Card, Loaded } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { asDuration, inWords } from '../../parts/time.js'

type Limit = Answered<typeof depthsAnswer>['limits'][number]
const countOrNone = (count: number | null) => (count === null ? '–' : <Count count={count} />)

/** How many jobs may wait before the server warns, and before it refuses more. */
export function DepthLimits() {
  const limits = useAnswer<Answered<typeof depthsAnswer>>('admin/depth-limits', {}, { everyMs: 5_000 })
  return (
    <Card title="How much may wait" aside={<SetLimit />}>
      <Loaded query={limits}>
        {({ limits: rows }) => (
          <Table
            label="How much may wait"
            rows={rows}
            keyOf={({ scope, name }) => `${scope} ${name}`}
            empty="Any number of jobs may wait. A limit refuses enqueues before a backlog becomes too long to work off."
            columns={[
              { name: 'Where', cell: ({ scope, name }) => (name === null ? 'the whole queue' : `${scope} ${name}`) },
              { name: 'Waiting', number: true, cell: ({ waiting }) => <Count count={waiting} /> },
              { name: 'Warns at', number: true, cell: ({ soft }) => countOrNone(soft) },
              { name: 'Refuses at', number: true, cell: ({ hard }) => countOrNone(hard) },
              { name: 'Oldest waits', number: true, cell: ({ waits_ms }) => (waits_ms === null ? '–' : inWords(waits_ms)) },
              {
                name: 'Refuses when it waits',
                number: true,
                cell: ({ oldest_ms }) => (oldest_ms === null ? '–' : inWords(oldest_ms)),
              },
            ]}
            acts={(limit) => <SetLimit limit={limit} />}
          />
        )}
      </Loaded>
    </Card>
  )
}

function SetLimit({ limit }: { limit?: Limit }) {
  return (
    <Act
      name={limit ? 'Change' : 'Set a limit'}
      title={limit ? `How much may wait in ${limit.name ?? 'the whole queue'}` : 'How much may wait'}
      says="A field that is empty sets no limit."
      needs="workers:manage"
      send={({ scope = limit?.scope, name, soft, hard, oldest, why }) =>
        ask('admin/depth-limits', {
          method: 'PUT',
          body: {
            scope,
            name: limit ? (limit.name ?? undefined) : given(name),
            ...{ soft: numberOrNull(soft), hard: numberOrNull(hard), oldest: given(oldest) ?? null, why: given(why) },
          },
        })
      }
      done="The limit is set"
    >
      {!limit && (
        <div className="pair">
          <Choice name="scope" label="Where" options={{ type: 'one job type', lane: 'one lane', queue: 'the whole queue' }} />
          <Field name="name" label="Name of the type or lane" hint="empty for the whole queue" />
        </div>
      )}
      <div className="pair">
        <Field name="soft" label="Warns at" hint="jobs that wait" type="number" min={1} defaultValue={limit?.soft ?? ''} />
        <Field name="hard" label="Refuses at" hint="jobs that wait" type="number" min={1} defaultValue={limit?.hard ?? ''} />
        <Field
          name="oldest"
          label="Refuses when the oldest waits"
          hint="such as 10m or 1h"
          defaultValue={limit?.oldest_ms ? asDuration(limit.oldest_ms) : ''}
        />
      </div>
    </Act>
  )
}
