import { useState } from 'react'
import type { newTargetAnswer, targetsAnswer } from '../../../../src/api/alerts.js'
import { ask } from '../../api/ask.js'
import { type Answered, pathOf, useAnswer } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Choice, Field, given, listOf } from '../../parts/fields.js'
import { Card, Loaded } from '../../parts/page.js'
import { Secret } from '../../parts/secret.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'

type Target = Answered<typeof targetsAnswer>['targets'][number]
type NewTarget = Answered<typeof newTargetAnswer>

const forms = { webhook: 'a signed webhook', slack: 'a message for Slack', pagerduty: 'an event for PagerDuty' }

/** The addresses that are notified when an alert begins and when it is over. */
export function Targets({ rules }: { rules: readonly string[] }) {
  const targets = useAnswer<Answered<typeof targetsAnswer>>('admin/alerts/targets', {}, { everyMs: 5_000 })
  const [made, setMade] = useState<NewTarget>()
  return (
    <>
      {made && <Secret title={`Signing secret for ${made.url}`} secret={made.secret} close={() => setMade(undefined)} />}
      <Card title="Who is notified" aside={<NewTargetAct rules={rules} onMade={setMade} />}>
        <Loaded query={targets}>
          {({ targets: rows }) => (
            <Table
              label="Who is notified"
              rows={rows}
              keyOf={({ id }) => id}
              empty="Nobody is notified. A target is an address that gets a signed webhook when an alert begins and when it is over."
              columns={[
                { name: 'Address', cell: ({ url }) => <span className="breakable">{url}</span> },
                { name: 'Form', cell: ({ form }) => form },
                { name: 'Rules', cell: ({ rules: only }) => only?.join(', ') ?? 'all' },
                { name: 'Made by', cell: ({ created_by }) => created_by },
                { name: 'Made', number: true, cell: ({ created_at }) => <Moment at={created_at} /> },
              ]}
              acts={(target) => <TargetActs target={target} onMade={setMade} />}
            />
          )}
        </Loaded>
      </Card>
    </>
  )
}

function NewTargetAct({ rules, onMade }: { rules: readonly string[]; onMade: (made: NewTarget) => void }) {
  return (
    <Act
      name="New target"
      title="Call an address about trouble"
      needs="admin"
      send={async ({ url, form, routing_key, only, why }) =>
        onMade(
          await ask<NewTarget>('admin/alerts/targets', {
            method: 'POST',
            body: { url, form, routing_key: given(routing_key), rules: listOf(only), why: given(why) },
          }),
        )
      }
      done="The target is stored"
    >
      <Field name="url" label="Address" type="url" placeholder="https://hooks.example.com/holdfast" required />
      <Choice name="form" label="What is sent" options={forms} />
      <Field name="routing_key" label="Routing key" hint="of PagerDuty alone" />
      <Field name="only" label="Only these rules" hint={`empty: all; there are ${rules.join(', ')}`} />
    </Act>
  )
}

function TargetActs({ target: { id, url }, onMade }: { target: Target; onMade: (made: NewTarget) => void }) {
  const path = `admin/alerts/targets/${pathOf(id)}`
  return (
    <>
      <Act
        name="Test"
        title={`Call ${url} as if there were trouble?`}
        needs="admin"
        posts={`${path}/test`}
        done="A test webhook is on its way, as a job of the type holdfast:alert"
      />
      <Act
        name="New secret"
        title={`Sign with a new secret for ${url}?`}
        says="For the time you name, webhooks have both signatures; give the receiver the new secret within it."
        needs="admin"
        send={async ({ grace, why }) =>
          onMade(await ask<NewTarget>(`${path}/rotate`, { method: 'POST', body: { grace: given(grace), why: given(why) } }))
        }
        done="The secret is replaced"
      >
        <Field name="grace" label="Both are valid for" placeholder="1d" hint="one day unless given" />
      </Act>
      <Act
        name="Delete"
        title={`Call ${url} no more?`}
        needs="admin"
        look="grave"
        typed="delete"
        send={({ why }) => ask(path, { method: 'DELETE', query: { why: given(why) } })}
        done="The target is deleted"
      />
    </>
  )
}
