import { lanesFromEnvironment } from '../flow/lane-environment.js'
import { type Issue, sentenceOf } from '../issue.js'
import { Checker } from '../job/checker.js'
import { refuseMisspelt, unreadNames } from '../job/variable-names.js'
import { membersFrom, readMembers } from '../members/options.js'
import { readOptions } from '../options.js'
import { httpsOptions } from '../server/tls.js'
import { checkDatabaseUrl, describeDatabaseUrl } from './database-url.js'
import { variables } from './environment.js'
import { Given } from './given.js'
import { readListening } from './listening.js'
import { readServeSettings } from './serve/settings.js'
import { readStartSettings } from './up/settings.js'
import { readWorkSettings } from './work/settings.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** The programs that read an environment. */
export const programs = ['up', 'serve', 'work'] as const
export type ProgramName = (typeof programs)[number]

/** A variable that is set, as people may see it. */
export interface SetVariable {
  name: string
  value: string
  read_by: string[]
}

/** What is set, and everything that is wrong with it. */
export interface ConfigurationReport {
  set: SetVariable[]
  problems: { name: string | null; problem: string }[]
}

/** Stands in for a database where the program that is meant is not known to need one. */
const anyDatabase = 'postgres://localhost/none'

/**
 * Reads an environment as the programs do when they start, with the same checks, and collects everything that is wrong. Without a program,
 * whatever is set is checked for all of them; with one, what it needs must be there too.
 */
export function checkConfiguration(env: Environment, program?: ProgramName): ConfigurationReport {
  const issues = new Map<string, Issue>()
  const add = (read: () => unknown) => {
    const check = new Checker()
    check.read(read, undefined)
    for (const issue of check.problem('invalid_configuration', '').issues) issues.set(sentenceOf(issue), issue)
  }
  const needed = program === 'serve' || program === 'work'
  // A worker works for all of several databases, and a server is given the one that it serves.
  const several = Boolean(env.HOLDFAST_DATABASES) && program !== 'serve'
  const databaseUrl = env.DATABASE_URL || (needed && !several ? '' : anyDatabase)
  const asks = {
    up: () => readStartSettings(env),
    serve: () => readServeSettings(env, { databaseUrl, grace: '5s', drain: '25s' }),
    work: () => readWorkSettings(env, { databaseUrl }),
  }
  for (const [name, ask] of Object.entries(asks)) if (program === undefined || program === name) add(ask)
  add(() => readOptions({ connectionString: databaseUrl || anyDatabase }, env))
  // A server may have a standby of its own: it is of one of them.
  const ofOne = program === 'serve' ? { HOLDFAST_LISTEN_URL: '', HOLDFAST_READ_URL: '' } : {}
  if (env.HOLDFAST_DATABASES) add(() => readMembers({}, { ...env, ...ofOne }))
  add(() => lanesFromEnvironment(env))
  add(() => usableTls(env))
  const names = new Checker()
  refuseMisspelt(names, env)
  for (const name of unreadNames(env)) names.wrong([name], 'is not known, and nothing reads it')
  add(() => names.done('invalid_configuration', ''))
  const problems = [...issues.values()].map(({ path, problem }) => ({ name: path.length === 0 ? null : path.join('.'), problem }))
  return { set: setIn(env), problems }
}

/** Files that are there can still be no certificate. */
function usableTls(env: Environment): void {
  const check = new Checker()
  const listening = check.read(() => readListening(new Given(env)), undefined)
  if (listening?.tls) httpsOptions(listening.tls)
}

/** What may contain a password. */
const addresses = ['DATABASE_URL', 'HOLDFAST_LISTEN_URL', 'HOLDFAST_READ_URL', 'HOLDFAST_WAKE_URL', 'HOLDFAST_TEST_URL']
const secret = /_KEYS?$|_SECRET$/

function setIn(env: Environment): SetVariable[] {
  const lanes = /^HOLDFAST_LANE_/
  const readBy = (name: string) =>
    variables.find((one) => one.name === name || (lanes.test(name) && lanes.test(one.name)))?.readBy ?? []
  return Object.entries(env)
    .filter(([name, value]) => value !== undefined && value !== '' && readBy(name).length > 0)
    .map(([name, value = '']) => ({ name, value: shown(name, value), read_by: [...readBy(name)] }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

function shown(name: string, value: string): string {
  if (name === 'HOLDFAST_TLS_KEY') return value
  if (secret.test(name)) return `(secret, ${value.length} characters)`
  if (!addresses.includes(name) && name !== 'HOLDFAST_DATABASES') return value
  try {
    if (name === 'HOLDFAST_DATABASES') {
      const described = ([member, url]: [string, string]) => `${member}: ${shown('DATABASE_URL', url)}`
      return Object.entries(membersFrom(value)).map(described).join(', ')
    }
    if (name !== 'HOLDFAST_WAKE_URL') checkDatabaseUrl(value, name)
    return describeDatabaseUrl(value)
  } catch {
    // It may contain a password, wherever that stands in a text that is no address.
    return '(not an address)'
  }
}
