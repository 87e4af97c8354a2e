import type { Command } from 'commander'
import { didYouMean } from '../job/nearest.js'
import type { Holdfasts } from '../members/holdfasts.js'
import { isMemberName } from '../members/id.js'
import { membersFrom, optionsAt } from '../members/options.js'
import type { Cli, Common } from './cli.js'
import { UsageError } from './exit.js'
import type { Io } from './io.js'

/** Commands that are about all databases of HOLDFAST_DATABASES, or about none. */
const ofAll = ['work', 'migrate', 'up', 'check', 'completion']

/** Sends a command to the member that it names. Answers with the schema that the address says. */
export function chooseMember(command: Command, env: Io['env'], name: string): string | undefined {
  const members = membersFrom(env.HOLDFAST_DATABASES ?? '')
  const names = Object.keys(members)
  if (names.length === 0) throw new UsageError('--member is for several databases, and HOLDFAST_DATABASES names none', '--member')
  const address = members[name]
  if (address === undefined) {
    throw new UsageError(`--member is "${name}"${didYouMean(name, names)}; there are ${names.join(', ')}`, '--member')
  }
  const { connectionString, schema } = optionsAt(address, ['HOLDFAST_DATABASES', name])
  if (command.getOptionValueSource('databaseUrl') === 'cli') {
    throw new UsageError('--member and --database-url were both given; each says which database is meant', '--member')
  }
  command.setOptionValueWithSource('databaseUrl', connectionString, 'cli')
  return schema
}

/** A command for one database does not guess which of several is meant. */
export function refuseUnsaid(command: Command, env: Io['env']): void {
  const takesOne = command.options.some(({ long }) => long === '--database-url')
  if (!takesOne || !isForAll(env, command.opts()) || ofAll.includes(command.name()) || command.parent?.name() === 'members')
    return
  const names = Object.keys(membersFrom(env.HOLDFAST_DATABASES ?? '')).join(', ')
  throw new UsageError(`HOLDFAST_DATABASES has several databases: say which one, of ${names}, with --member`, '--member')
}

/** Whether nothing else than HOLDFAST_DATABASES says where. */
export function isForAll(env: Io['env'], { databaseUrl, url }: Common): boolean {
  return Boolean(env.HOLDFAST_DATABASES) && !(databaseUrl ?? url) && !(env.DATABASE_URL || env.HOLDFAST_URL)
}

/** Where the members are, and what their schemas are called. */
export function databasesOf(
  env: Io['env'],
  schema: string,
): { databases: { name: string; connectionString: string }[]; schemas: string[] } {
  const members = Object.entries(membersFrom(env.HOLDFAST_DATABASES ?? ''))
  if (members.length === 0)
    throw new UsageError('HOLDFAST_DATABASES names no database', 'HOLDFAST_DATABASES', 'invalid_configuration')
  const bad = members.find(([name]) => !isMemberName(name))
  if (bad) {
    const problem = `HOLDFAST_DATABASES names ${bad[0]}, which is no name of a member: 1 to 32 small letters, digits and underscores`
    throw new UsageError(problem, 'HOLDFAST_DATABASES', 'invalid_configuration')
  }
  const all = members.map(([name, address]) => ({ name, ...optionsAt(address, ['HOLDFAST_DATABASES', name]) }))
  const databases = all.map(({ name, connectionString = '' }) => ({ name, connectionString }))
  return { databases, schemas: [...new Set(all.map((one) => one.schema ?? schema))] }
}

/** Runs `use` with all databases of HOLDFAST_DATABASES. */
export async function withMembers<Result>(cli: Cli, use: (holdfasts: Holdfasts) => Promise<Result>): Promise<Result> {
  const { Holdfasts } = await import('../members/holdfasts.js')
  const members = membersFrom(cli.io.env.HOLDFAST_DATABASES ?? '')
  const { schema } = cli
  const holdfasts = new Holdfasts({ members, connections: 2, retryEnqueueFor: 0, ...(schema !== undefined && { schema }) })
  try {
    return await use(holdfasts)
  } finally {
    await holdfasts.close()
  }
}
