import type { Command } from 'commander'
import type { RoleBody } from '../../api/admin.js'
import type { Cli, Common } from '../cli.js'
import { examples } from '../examples.js'
import { why } from './jobs.js'

/** `holdfast roles ls|set|drop`. */
export function addRoles(program: Command, cli: Cli): void {
  const roles = program.command('roles').summary('list the roles of keys, and make your own')
  roles.description('Shows and changes what the roles of keys allow.')
  const columns = [{ head: 'ROLE' }, { head: 'KIND' }, { head: 'ALLOWS', cut: true }]
  const ofOne = ['<name>', 'the name of the role'] as const
  cli
    .looking(roles, 'ls', 'Lists the roles and what each allows; so does the command without another word.', { isDefault: true })
    .addHelpText('after', examples('roles ls --json'))
    .action((options: Common) =>
      cli.show(
        options,
        async ({ access }) => ({ roles: await access.roles() }),
        (found) => {
          const rows = found.roles.map((role) => [role.name, role.built_in ? 'built in' : 'your own', role.permissions.join(' ')])
          return cli.screen.table(columns, rows, 'There are no roles.')
        },
      ),
    )
  cli
    .changing(roles, 'set', 'Makes a role of your own, or changes what it allows; its keys follow within two seconds.')
    .argument(...ofOne)
    .argument('<permissions...>', 'all that it allows, such as jobs:read workers:view')
    .addHelpText('after', examples('roles set support jobs:read workers:view --why "the help desk looks"'))
    .action(async (name: string, permissions: RoleBody['permissions'], options: Common) => {
      const role = await cli.using(options, ({ access }) => access.setRole(name, { permissions, ...why(options) }))
      cli.answer(options, role, () => `${name} allows ${role.permissions.join(' ')}.`)
    })
  cli
    .destroying(roles, 'drop', 'Removes a role of your own that no key has.')
    .argument(...ofOne)
    .addHelpText('after', examples('roles drop support --yes'))
    .action(async (name: string, options: Common) => {
      await cli.confirm(options, `remove the role ${name}`)
      await cli.using(options, ({ access }) => access.dropRole(name, why(options)))
      cli.answer(options, { name, dropped: true }, () => `The role ${name} is removed.`)
    })
}
