import type { KeyAnswer, newKeyAnswer } from '../../../../src/api/admin.js'
import { ask } from '../../api/ask.js'
import { type Answered, pathOf } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { Field, given, givenNumber, listOf } from '../../parts/fields.js'

export type NewKey = Answered<typeof newKeyAnswer>

interface MakesKey {
  readonly roles: readonly string[]
  readonly onMade: (made: NewKey) => void
}

export function NewKeyAct({ roles, onMade }: MakesKey) {
  return (
    <Act
      name="New key"
      title="New key"
      needs="admin"
      look="first"
      send={async (values) => onMade(await ask<NewKey>('admin/keys', { method: 'POST', body: bodyOf(values) }))}
      done="The key is made; copy it now"
    >
      <KeyFields roles={roles} />
    </Act>
  )
}

export function TrustCertificate({ roles }: { roles: readonly string[] }) {
  return (
    <Act
      name="Trust a certificate"
      title="Trust a client certificate"
      says="A client whose certificate is signed by the server’s CA can use it instead of a key."
      needs="admin"
      send={(values) => ask('admin/certificates', { method: 'POST', body: { subject: values.subject, ...bodyOf(values) } })}
      done="The certificate is trusted"
    >
      <Field name="subject" label="Common name, or SHA-256 fingerprint" required />
      <KeyFields roles={roles} />
    </Act>
  )
}

function KeyFields({ roles }: { roles: readonly string[] }) {
  return (
    <>
      <Field
        name="service"
        label="Service"
        hint="a name people know; it stands in the audit log and as the owner of jobs"
        required
      />
      <fieldset className="choices">
        <legend>Roles</legend>
        {roles.map((role) => (
          <label className="check" key={role}>
            <input type="checkbox" name={`role ${role}`} value={role} />
            <span>{role}</span>
          </label>
        ))}
      </fieldset>
      <div className="pair">
        <Field name="types" label="Only these job types" hint="separated by spaces; empty: all" />
        <Field name="rate_limit" label="Requests per second" type="number" min={1} placeholder="1000" />
        <Field name="expires" label="Ends after" placeholder="90d" hint="empty: never" />
      </div>
    </>
  )
}

function bodyOf(values: Values) {
  const { service, types, rate_limit, expires, why } = values
  const roles = Object.entries(values).flatMap(([name, value]) => (name.startsWith('role ') ? [value] : []))
  return { service, roles, types: listOf(types), rate_limit: givenNumber(rate_limit), expires: given(expires), why: given(why) }
}

export function KeyActs({ keyOf: key, onMade }: { keyOf: KeyAnswer; onMade: (made: NewKey) => void }) {
  return (
    <>
      {key.subject === null && (
        <Act
          name="Rotate"
          title={`A new key for ${key.service}`}
          says="The old key stays valid for the time you name, so that the service can change over."
          needs="admin"
          send={async ({ grace, why }) =>
            onMade(
              await ask<NewKey>(`admin/keys/${pathOf(key.id)}/rotate`, {
                method: 'POST',
                body: { grace: given(grace), why: given(why) },
              }),
            )
          }
          done="The key is made; copy it now"
        >
          <Field name="grace" label="The old one ends after" placeholder="1d" />
        </Act>
      )}
      <Act
        name="Revoke"
        title={`Revoke this ${key.subject === null ? 'key' : 'certificate'} of ${key.service}?`}
        says="Every server refuses it within two seconds, and its sessions end."
        needs="admin"
        look="grave"
        typed={key.service}
        send={({ why }) => ask(`admin/keys/${pathOf(key.id)}`, { method: 'DELETE', query: { why: given(why) } })}
        done="Revoked"
      />
    </>
  )
}
