import { useState } from 'react'
import type { keysAnswer, rolesAnswer } from '../../../../src/api/admin.js'
import { type Answered, useAnswer } from '../../api/use.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { Secret } from '../../parts/secret.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { KeyActs, type NewKey, NewKeyAct, TrustCertificate } from './key-acts.js'
import { Roles } from './roles.js'

type Key = Answered<typeof keysAnswer>['keys'][number]

/** Who may call the server, and what they may do. */
export function Keys() {
  const keys = useAnswer<Answered<typeof keysAnswer>>('admin/keys', {}, { everyMs: 5_000 })
  const roles = useAnswer<Answered<typeof rolesAnswer>>('admin/roles', {}, { everyMs: 5_000 })
  const [made, setMade] = useState<NewKey>()
  const names = roles.data?.roles.map(({ name }) => name) ?? []
  return (
    <Page
      title="Keys and roles"
      aside={
        <div className="row">
          <NewKeyAct roles={names} onMade={setMade} />
          <TrustCertificate roles={names} />
        </div>
      }
    >
      <div className="stack">
        {made && <Secret title={`The new key of ${made.service}`} secret={made.key} close={() => setMade(undefined)} />}
        <Card title="Keys">
          <Loaded query={keys}>{({ keys: rows }) => <KeyTable keys={rows} onMade={setMade} />}</Loaded>
        </Card>
        <Loaded query={roles}>{({ roles: rows }) => <Roles roles={rows} />}</Loaded>
      </div>
    </Page>
  )
}

function KeyTable({ keys, onMade }: { keys: readonly Key[]; onMade: (made: NewKey) => void }) {
  return (
    <Table
      label="Keys"
      rows={keys}
      keyOf={({ id }) => id}
      empty="No service has a key yet; you are here with the administrator’s key of the server. Each service should have its own."
      columns={[
        {
          name: 'Service',
          cell: ({ service, prefix, subject }) => (
            <>
              {service}
              <span className="second mono">{subject === null ? `${prefix}…` : `certificate ${subject}`}</span>
            </>
          ),
        },
        { name: 'State', cell: (key) => <KeyState state={key} /> },
        { name: 'Roles', cell: ({ roles }) => roles.join(', ') },
        { name: 'Job types', cell: ({ types }) => types?.join(', ') ?? 'all' },
        { name: 'Requests per s', number: true, cell: ({ rate_limit }) => rate_limit },
        {
          name: 'Last used',
          number: true,
          cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <Moment at={last_used_at} />),
        },
        {
          name: 'Made',
          number: true,
          cell: ({ created_at, created_by }) => (
            <>
              <Moment at={created_at} />
              <span className="second">by {created_by}</span>
            </>
          ),
        },
      ]}
      acts={(key) => key.live && <KeyActs keyOf={key} onMade={onMade} />}
    />
  )
}

function KeyState({ state: { live, revoked_at, expires_at } }: { state: Key }) {
  if (live) {
    return (
      <>
        <span className="status" data-status="completed">
          live
        </span>
        {expires_at && (
          <span className="second">
            ends <Moment at={expires_at} />
          </span>
        )}
      </>
    )
  }
  return (
    <span className="status" data-status="cancelled">
      {revoked_at === null ? 'expired' : 'revoked'} <Moment at={revoked_at ?? expires_at} />
    </span>
  )
}
