import type { Firing } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Choice, Field, given, givenNumber } from '../../parts/fields.js'
import { Card } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { asDuration, inWords, Moment } from '../../parts/time.js'
import { kindWords, valueInWords } from './kinds.js'

type Rule = Firing['rules'][number]

/** The rules that say what trouble is. */
export function Rules({ rules }: { rules: readonly Rule[] }) {
  return (
    <Card title="Rules" aside={<SetRule />}>
      <Table
        label="Rules"
        rows={rules}
        keyOf={({ name }) => name}
        empty="No rule says what trouble is."
        columns={[
          {
            name: 'Rule',
            cell: ({ name, kind }) => (
              <>
                {name}
                <span className="second">{kindWords[kind]}</span>
              </>
            ),
          },
          {
            name: 'State',
            cell: ({ enabled, silenced_until }) =>
              enabled ? (
                <>
                  on
                  {silenced_until !== null && Date.parse(silenced_until) > Date.now() && (
                    <span className="second">
                      nobody is notified until <Moment at={silenced_until} />
                    </span>
                  )}
                </>
              ) : (
                <span className="status" data-status="failed">
                  off
                </span>
              ),
          },
          { name: 'Type', cell: ({ type }) => type ?? 'all' },
          { name: 'Threshold', number: true, cell: ({ kind, threshold }) => valueInWords(kind, threshold) },
          { name: 'For', number: true, cell: ({ for_ms }) => (for_ms === 0 ? '–' : inWords(for_ms)) },
          { name: 'Over after', number: true, cell: ({ hold_ms }) => (hold_ms === 0 ? '–' : inWords(hold_ms)) },
        ]}
        acts={(rule) => (
          <>
            <SetRule rule={rule} />
            <Act
              name="Silence"
              title={`Call nobody about ${rule.name} for a while?`}
              says="What still goes on when the time is over is told then. Empty ends a silence."
              needs="workers:manage"
              send={({ until, why }) =>
                ask(pathTo(rule.name), {
                  method: 'PUT',
                  body: { silenced_until: until ? new Date(until).toISOString() : null, why: given(why) },
                })
              }
              done="The silence is stored"
            >
              <Field name="until" label="Until" type="datetime-local" />
            </Act>
            <Act
              name={rule.enabled ? 'Switch off' : 'Switch on'}
              title={`Switch ${rule.name} ${rule.enabled ? 'off' : 'on'}?`}
              needs="workers:manage"
              send={({ why }) => ask(pathTo(rule.name), { method: 'PUT', body: { enabled: !rule.enabled, why: given(why) } })}
              done={`${rule.name} is ${rule.enabled ? 'off' : 'on'}`}
            />
            <Act
              name="Delete"
              title={`Delete the rule ${rule.name}?`}
              needs="workers:manage"
              look="grave"
              typed={rule.name}
              send={({ why }) => ask(pathTo(rule.name), { method: 'DELETE', query: { why: given(why) } })}
              done={`${rule.name} is deleted`}
            />
          </>
        )}
      />
    </Card>
  )
}

const pathTo = (name: string) => `admin/alerts/rules/${pathOf(name)}`

function SetRule({ rule }: { rule?: Rule }) {
  return (
    <Act
      name={rule ? 'Change' : 'New rule'}
      title={rule ? `Change the rule ${rule.name}` : 'New rule'}
      needs="workers:manage"
      send={({ name = '', kind, threshold, type, min_priority, for: lasts, hold, why }) =>
        ask(pathTo(rule?.name ?? name), {
          method: 'PUT',
          body: {
            ...(rule ? {} : { kind }),
            threshold: givenNumber(threshold),
            type: given(type) ?? null,
            min_priority: givenNumber(min_priority),
            for: given(lasts),
            hold: given(hold),
            why: given(why),
          },
        })
      }
      done="The rule is stored"
    >
      {!rule && <Field name="name" label="Name" required />}
      {!rule && <Choice name="kind" label="Watches" options={kindWords} />}
      <div className="pair">
        <Field
          name="threshold"
          label="Threshold"
          type="number"
          min={0}
          step="any"
          defaultValue={rule?.threshold ?? ''}
          hint="it fires above this"
          required
        />
        <Field
          name="for"
          label="Fires after"
          defaultValue={rule ? asDuration(rule.for_ms) : ''}
          hint="so long above it, such as 5m"
        />
        <Field
          name="hold"
          label="Over after"
          defaultValue={rule ? asDuration(rule.hold_ms) : ''}
          hint="so long not above it, such as 5m"
        />
        <Field name="type" label="Only this job type" defaultValue={rule?.type ?? ''} hint="empty: all" />
        <Field
          name="min_priority"
          label="From this priority on"
          type="number"
          min={0}
          max={9}
          defaultValue={rule?.min_priority ?? ''}
        />
      </div>
    </Act>
  )
}
