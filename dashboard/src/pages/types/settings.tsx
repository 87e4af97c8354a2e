import type { TypeAnswer, TypeBody } from '../../../../src/api/types.js'
import { useFleet } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { pathOf, useAnswer } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { Fact, Facts } from '../../parts/facts.js'
import { AttemptsField, Choice, Field, given, PriorityField } from '../../parts/fields.js'
import { Json } from '../../parts/json.js'
import { WhatOperatorsSaid } from '../../parts/overrides.js'
import { Card, Loaded } from '../../parts/page.js'
import { asDuration, inWords, Moment } from '../../parts/time.js'

/** What is stored about a type, and what of it can be changed without a worker. */
export function TypeSettings({ type }: { type: string }) {
  const settings = useAnswer<TypeAnswer>(`admin/job-types/${pathOf(type)}`, {}, { everyMs: 5_000 })
  return (
    <Loaded query={settings}>
      {(stored) => (
        <>
          <WhatOperatorsSaid
            overrides={stored.overrides}
            releases={`admin/job-types/${pathOf(type)}/release`}
            needs="types:manage"
          />
          <Card title="Settings" aside={<ChangeSettings stored={stored} />}>
            <Facts>
              <Fact name="Priority">{stored.priority}</Fact>
              <Fact name="Attempts">{stored.max_attempts}</Fact>
              <Fact name="Timeout">{inWords(stored.timeout_ms)}</Fact>
              <Fact name="Payload version">{stored.version}</Fact>
              <Fact name="Results">{stored.max_result_bytes === 0 ? 'not kept' : `up to ${stored.max_result_bytes} bytes`}</Fact>
              <Fact name="Payload">{stored.encrypt ? 'encrypted' : 'stored as it is'}</Fact>
              {stored.redact.length > 0 && <Fact name="Not shown">{stored.redact.join(', ')}</Fact>}
              {stored.searchable.length > 0 && <Fact name="Searchable">{stored.searchable.join(', ')}</Fact>}
              {stored.on_dead !== null && <Fact name="A dead job enqueues">{stored.on_dead}</Fact>}
              <Fact name="Registered">
                <Moment at={stored.registered_at} />
              </Fact>
            </Facts>
            {(['backoff', 'approval', 'unique'] as const).map(
              (name) =>
                stored[name] !== null && (
                  <details key={name}>
                    <summary>{name}</summary>
                    <Json value={stored[name]} label={name} />
                  </details>
                ),
            )}
          </Card>
        </>
      )}
    </Loaded>
  )
}

function ChangeSettings({ stored }: { stored: TypeAnswer }) {
  return (
    <Act
      name="Change settings"
      title={`Settings of ${stored.type}`}
      says="They hold for jobs enqueued from now on, whatever definition a worker starts with, until they are released."
      needs="types:manage"
      send={(values) => ask(`admin/job-types/${pathOf(stored.type)}`, { method: 'PUT', body: changedOf(values, stored) })}
      done={`${stored.type} is changed`}
    >
      <Fields stored={stored} />
    </Act>
  )
}

/** A type that no worker has registered yet. */
export function NewType() {
  const lanes = useFleet().data?.lanes.map(({ name }) => name) ?? ['default']
  return (
    <Act
      name="New type"
      title="A new job type"
      says="Its jobs can be enqueued at once; they wait until a worker of it starts."
      needs="types:manage"
      send={({ type = '', lane = 'default', ...values }) =>
        ask(`admin/job-types/${pathOf(type)}`, { method: 'PUT', body: { ...bodyOf(values), lane } })
      }
      done="The type is there"
    >
      <div className="pair">
        <Field name="type" label="Name" hint="letters, digits, _ - . : /" maxLength={200} required />
        <Choice name="lane" label="Lane" options={Object.fromEntries(lanes.map((name) => [name, name]))} first="default" />
      </div>
      <Fields stored={undefined} />
    </Act>
  )
}

/** Puts a type into another lane. */
export function MoveType({ type, lane }: { type: string; lane: string }) {
  const others =
    useFleet()
      .data?.lanes.map(({ name }) => name)
      .filter((name) => name !== lane) ?? []
  if (others.length === 0) return null
  return (
    <Act
      name="Move"
      title={`Move ${type} to another lane`}
      says={`Jobs that wait go along; what runs stays in its slot of ${lane}.`}
      needs="workers:manage"
      send={(values) =>
        ask(`admin/job-types/${pathOf(type)}`, { method: 'PATCH', body: { lane: values.lane, why: given(values.why) } })
      }
      done={`${type} is moved`}
    >
      <Choice name="lane" label="Lane" options={Object.fromEntries(others.map((name) => [name, name]))} />
    </Act>
  )
}

function Fields({ stored }: { stored: TypeAnswer | undefined }) {
  return (
    <div className="pair">
      <PriorityField first={stored?.priority ?? 5} required />
      <AttemptsField first={stored?.max_attempts ?? 5} required />
      <Field
        name="timeout"
        label="Timeout of an attempt"
        hint="such as 30s or 10m"
        defaultValue={asDuration(stored?.timeout_ms ?? 300_000)}
        required
      />
    </div>
  )
}

function bodyOf({ priority, max_attempts, timeout = '', why }: Values): TypeBody {
  const reason = given(why)
  return {
    ...{ priority: Number(priority), max_attempts: Number(max_attempts), timeout },
    ...(reason === undefined ? {} : { why: reason }),
  }
}

/** What was changed and nothing else: the rest stays with whoever said it. */
function changedOf(values: Values, stored: TypeAnswer): TypeBody {
  const { timeout, priority, max_attempts, why } = bodyOf(values)
  return {
    ...(timeout === asDuration(stored.timeout_ms) ? {} : { timeout }),
    ...(priority === stored.priority ? {} : { priority }),
    ...(max_attempts === stored.max_attempts ? {} : { max_attempts }),
    ...(why === undefined ? {} : { why }),
  } as TypeBody
}
