import type { rolesAnswer } from '../../../../src/api/admin.js'
import { permissions } from '../../../../src/api/permissions.js'
import { ask } from '../../api/ask.js'
import { type Answered, pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Field, given } from '../../parts/fields.js'
import { Card } from '../../parts/page.js'
import { Table } from '../../parts/table.js'

type Role = Answered<typeof rolesAnswer>['roles'][number]

/** What each role allows. Those that come with Holdfast stay as they are. */
export function Roles({ roles }: { roles: readonly Role[] }) {
  return (
    <Card title="Roles" aside={<SetRole />}>
      <Table
        label="Roles"
        rows={roles}
        keyOf={({ name }) => name}
        empty="There is no role."
        columns={[
          { name: 'Role', cell: ({ name }) => name },
          {
            name: 'Allows',
            cell: ({ permissions: allowed }) => (
              <span className="words">
                {allowed.map((name) => (
                  <code key={name} title={permissions[name as keyof typeof permissions]}>
                    {name}
                  </code>
                ))}
              </span>
            ),
          },
          { name: 'Made by', cell: ({ built_in }) => (built_in ? 'Holdfast' : 'you') },
        ]}
        acts={(role) =>
          !role.built_in && (
            <>
              <SetRole role={role} />
              <Act
                name="Delete"
                title={`Delete the role ${role.name}?`}
                needs="admin"
                look="grave"
                typed={role.name}
                send={({ why }) => ask(`admin/roles/${pathOf(role.name)}`, { method: 'DELETE', query: { why: given(why) } })}
                done={`${role.name} is deleted`}
              />
            </>
          )
        }
      />
    </Card>
  )
}

function SetRole({ role }: { role?: Role }) {
  return (
    <Act
      name={role ? 'Change' : 'New role'}
      title={role ? `What ${role.name} allows` : 'New role'}
      needs="admin"
      wide
      send={({ name = '', why, ...chosen }) =>
        ask(`admin/roles/${pathOf(role?.name ?? name)}`, {
          method: 'PUT',
          body: { permissions: Object.keys(chosen), why: given(why) },
        })
      }
      done="The role is stored"
    >
      {!role && <Field name="name" label="Name" required />}
      <fieldset className="choices">
        <legend>Allows</legend>
        {Object.entries(permissions).map(([permission, means]) => (
          <label className="check" key={permission}>
            <input
              type="checkbox"
              name={permission}
              value="yes"
              defaultChecked={role?.permissions.includes(permission) ?? false}
            />
            <span>
              <code>{permission}</code> {means}
            </span>
          </label>
        ))}
      </fieldset>
    </Act>
  )
}
