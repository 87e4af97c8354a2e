import type { keyStatesAnswer } from '../../../../src/api/flow.js'
import { ask } from '../../api/ask.js'
import { type Answered, pathOf, useAnswer } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Field, given } from '../../parts/fields.js'
import { Link } from '../../parts/link.js'
import { ForField, Until } from '../../parts/overrides.js'
import { Card, Loaded } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'

type KeyState = Answered<typeof keyStatesAnswer>['keys'][number]

/** The concurrency keys of a type about which something was set, or that are halted. */
export function KeysOfType({ type }: { type: string }) {
  const path = `admin/job-types/${pathOf(type)}/keys`
  const keys = useAnswer<Answered<typeof keyStatesAnswer>>(path, {}, { everyMs: 5_000 })
  return (
    <Card title="Concurrency keys" aside={<PauseKey path={path} />}>
      <Loaded query={keys}>
        {({ keys: rows }) => (
          <Table
            label="Concurrency keys"
            rows={rows}
            keyOf={({ key }) => key}
            empty="Nothing is set for a single key. One key, such as a tenant, can be paused or given more turns than others."
            columns={[
              { name: 'Key', cell: ({ key }) => key },
              { name: 'State', cell: (state) => <KeyWords state={state} /> },
              { name: 'Weight', number: true, cell: ({ weight }) => weight },
            ]}
            acts={({ key, paused, weight }) => (
              <>
                {paused ? <ResumeKey path={path} value={key} /> : <PauseKey path={path} value={key} />}
                <Weight path={path} value={key} weight={weight} />
              </>
            )}
          />
        )}
      </Loaded>
    </Card>
  )
}

function KeyWords({ state: { paused, halted, rests_until } }: { state: KeyState }) {
  if (halted) {
    return (
      <>
        halted <Moment at={halted.at} /> by <Link to={`/jobs/${halted.job}`}>a dead job</Link>
      </>
    )
  }
  if (paused) {
    return (
      <>
        paused by {paused.by}
        {paused.why && `: ${paused.why}`}
        <Until until={paused.until} />
      </>
    )
  }
  if (rests_until) {
    return (
      <>
        rests, until <Moment at={rests_until} />
      </>
    )
  }
  return 'runs'
}

interface OneKey {
  readonly path: string
  readonly value?: string
}

function PauseKey({ path, value }: OneKey) {
  return (
    <Act
      name={value === undefined ? 'Pause a key' : 'Pause'}
      title={value === undefined ? 'Pause one concurrency key' : `Pause ${value}?`}
      says="Jobs with this key wait; those with others run."
      needs="workers:manage"
      send={({ key = value, why, for: lasts }) =>
        ask(`${path}/pause`, { method: 'POST', body: { key, why: given(why), for: given(lasts) } })
      }
      done="The key is paused"
    >
      {value === undefined && <Field name="key" label="Concurrency key" required />}
      <ForField />
    </Act>
  )
}

function ResumeKey({ path, value }: OneKey) {
  return (
    <Act
      name="Resume"
      title={`Let ${value} run again?`}
      needs="workers:manage"
      look="first"
      send={({ why }) => ask(`${path}/resume`, { method: 'POST', body: { key: value, why: given(why) } })}
      done="The key runs again"
    />
  )
}

function Weight({ path, value, weight }: OneKey & { weight: number }) {
  return (
    <Act
      name="Weight"
      title={`How many turns ${value} gets`}
      says="Where keys take turns, one with weight 4 gets four turns while another gets one."
      needs="workers:manage"
      send={(values) =>
        ask(`${path}/weight`, { method: 'PUT', body: { key: value, weight: Number(values.weight), why: given(values.why) } })
      }
      done="The weight is changed"
    >
      <Field name="weight" label="Weight" type="number" min={0.001} max={1000} step="any" defaultValue={weight} required />
    </Act>
  )
}
