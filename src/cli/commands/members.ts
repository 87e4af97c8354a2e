import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { Holdfasts, MemberState } from '../../members/holdfasts.js'
import type { Cli } from '../cli.js'
import { UsageError } from '../exit.js'
import { databasesOf, withMembers } from '../member.js'

interface MemberOptions {
  json?: boolean
  why?: string
  by?: string
}

const columns = [{ head: 'MEMBER' }, { head: 'ROUTED' }, { head: 'LIVE' }, { head: 'DEAD' }, { head: 'SCHEDULES' }]

/** `holdfast members ls|open|drain|plproxy`. */
export function addMembers(program: Command, cli: Cli): void {
  const members = program.command('members').summary('several databases as one system: look, open, drain')
  members.description('Shows the databases of HOLDFAST_DATABASES, and opens or drains one for jobs that are routed by key.')
  const json = ['--json', 'answer in JSON'] as const
  members
    .command('ls')
    .description('Lists the members: whether jobs are routed to each, and what is left in it.')
    .option(...json)
    .action(async (options: MemberOptions) => {
      const found = await withMembers(cli, (holdfasts) => holdfasts.members())
      cli.answer(options, found, () => words(cli, found))
      if (found.unavailable.length > 0) cli.exitCode = 1
    })
  members
    .command('plproxy')
    .description('Prints a script for a database that routes the jobs of SQL producers with PL/Proxy, without connecting to any.')
    .action(async () => {
      const { routerScript } = await import('../../store/plproxy.js')
      const { defaultSchema } = await import('../../store/schema-name.js')
      const { databases, schemas } = databasesOf(cli.io.env, cli.schema ?? defaultSchema)
      const [schema, another] = schemas
      if (another !== undefined)
        throw new UsageError(`the members have schemas of different names, ${schemas.join(', ')}; PL/Proxy needs one`)
      cli.screen.print(routerScript(databases, schema as string))
    })
  const changing = (name: string, what: string, change: (holdfasts: Holdfasts, member: string, by: Who) => Promise<void>) =>
    members
      .command(name)
      .argument('<member>', 'the name of the member')
      .description(what)
      .option('--why <text>', 'the reason, for the audit log')
      .option('--by <name>', 'who does it, for the audit log (default: the user of this machine)')
      .option(...json)
      .action(async (member: string, { why, by = userInfo().username, ...options }: MemberOptions) => {
        const who = { by, from: 'cli', ...(why !== undefined && { why }) }
        await withMembers(cli, (holdfasts) => change(holdfasts, member, who))
        cli.answer(
          options,
          { member, done: name },
          () => `${member}: ${name === 'open' ? 'opened' : 'drained'}; every process follows within five seconds.`,
        )
      })
  changing('open', 'Lets jobs be routed to a member by their key.', (all, member, who) => all.openMember(member, who))
  changing('drain', 'Routes no more jobs to a member by their key; what is in it goes on.', (all, member, who) =>
    all.drainMember(member, who),
  )
}

type Who = { by: string; from: string; why?: string }

function words(cli: Cli, { members, unavailable }: { members: MemberState[]; unavailable: string[] }): string {
  const rows = members.map(({ name, routed, live, dead, schedules }) => [name, routed ? 'yes' : 'drained', live, dead, schedules])
  const away = unavailable.map((name) => [name, 'does not answer', '', '', ''])
  const text = [...rows, ...away].map((row) => row.map(String))
  return cli.screen.table(columns, text, 'There are no members.')
}
