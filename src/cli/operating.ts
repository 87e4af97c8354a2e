import { userInfo } from 'node:os'
import { type Command, Option } from 'commander'
import type { Holdfast } from '../holdfast.js'
import { withDatabase } from './connect.js'
import { print } from './print.js'

/** What every command that looks into the database, or operates what is in it, takes. */
export interface Common {
  databaseUrl?: string
  json?: boolean
  why?: string
}

export function looking(under: Command, name: string, description: string): Command {
  return under
    .command(name)
    .description(description)
    .addOption(new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name').env('DATABASE_URL'))
    .option('--json', 'answer in JSON')
}

export function changing(under: Command, name: string, description: string): Command {
  return looking(under, name, description).option('--why <text>', 'the reason, for the audit log')
}

export function using<Result>(options: Common, use: (holdfast: Holdfast) => Promise<Result>): Promise<Result> {
  return withDatabase(options.databaseUrl, 'to look into', use)
}

/** The user of this terminal, for the audit log. */
export function me({ why }: Common) {
  return { by: userInfo().username, from: 'cli', ...(why === undefined ? {} : { why }) }
}

export function answer(options: Common, value: unknown, words: () => string): void {
  print(options.json ? JSON.stringify(value, null, 2) : words())
}
