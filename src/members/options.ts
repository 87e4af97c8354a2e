import { Checker } from '../job/checker.js'
import { misconfigured } from '../job/refused.js'
import { type HoldfastOptions, readOptions } from '../options.js'
import { isMemberName } from './id.js'

/** What is of one database, and so of one member. */
export type MemberOptions = Pick<HoldfastOptions, 'connectionString' | 'pool' | 'schema' | 'listenUrl' | 'readUrl'>

/** Where one member is: its address, as a text or with what else is its own. `?schema=` of an address names the schema too. */
export type MemberAddress = string | MemberOptions

/** What a system of several databases is made with. The options of a Holdfast count for each member; `connections` too. */
export interface HoldfastsOptions extends Omit<HoldfastOptions, 'connectionString' | 'pool' | 'listenUrl' | 'readUrl'> {
  /**
   * The databases by their names, which stand in every id: `{ eu: 'postgres://…', us: 'postgres://…' }`. A name is of 1 to 32 small letters,
   * digits and underscores, begins with a letter, and is never given to another database.
   * @default HOLDFAST_DATABASES of the environment: `eu=postgres://…,us=postgres://…`
   */
  members?: Record<string, MemberAddress>
}

/** Read by every member, one of these would show the jobs of one database, or its wake-ups, as those of all. */
const ofOneDatabase = { HOLDFAST_LISTEN_URL: 'listenUrl', HOLDFAST_READ_URL: 'readUrl' }

/** The options of each member's Holdfast. Throws everything that is wrong with them at once. */
export function readMembers(
  options: HoldfastsOptions,
  environment: Record<string, string | undefined>,
): Map<string, HoldfastOptions> {
  const { members: given, ...common } = options
  const check = new Checker()
  const where = given === undefined ? 'HOLDFAST_DATABASES' : 'members'
  const members = given ?? check.read(() => membersFrom(environment.HOLDFAST_DATABASES ?? ''), {})
  if (Object.keys(members).length === 0 && check.count === 0) {
    check.wrong([where], 'has no member; it names databases, as eu=postgres://…,us=postgres://…')
  }
  for (const [variable, option] of Object.entries(ofOneDatabase)) {
    if (!environment[variable]) continue
    check.wrong([variable], `is of one database, and there are several; give ${option} to each member of new Holdfasts`)
  }
  const found = new Map<string, HoldfastOptions>()
  const taken = new Map<string, string>()
  for (const [name, address] of Object.entries(members)) {
    if (!isMemberName(name)) check.wrong([where, name], 'is no name of a member: 1 to 32 small letters, digits and underscores')
    const own = check.read(() => optionsAt(address, [where, name]), {})
    const place = own.connectionString && `${own.connectionString} ${own.schema ?? options.schema ?? environment.HOLDFAST_SCHEMA}`
    const other = place && taken.get(place)
    // The message does not repeat the address, because it may contain a password.
    if (other) check.wrong([where, name], `has the same address and schema as ${other}`)
    if (place) taken.set(place, name)
    found.set(name, { ...common, ...own })
  }
  for (const member of found.values()) check.read(() => readOptions(member, environment), undefined)
  check.done('invalid_configuration', 'the members have problems')
  return found
}

/** `eu=postgres://…,us=postgres://…`: a member begins behind a comma where a name and = follow, because an address may have commas too. */
export function membersFrom(text: string): Record<string, string> {
  const entries = text
    .trim()
    .split(/\s*,\s*(?=\w+=[a-z]+:)/)
    .filter((entry) => entry !== '')
    .map(entryOf)
  const names = entries.map(([name]) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw misconfigured(['HOLDFAST_DATABASES'], `names ${twice} twice`)
  return Object.fromEntries(entries)
}

/** A forgotten name or comma would make a part of an address, and with it a password, a name that messages repeat. */
function entryOf(entry: string, at: number): readonly [string, string] {
  const [, name, address] = /^(\w+)\s*=\s*(.*)$/s.exec(entry) ?? []
  if (name !== undefined && address !== undefined && address.split('://').length <= 2) return [name, address]
  const problem = `has an entry, number ${at + 1}, that is not a name, = and one address; it looks like eu=postgres://…,us=postgres://…`
  throw misconfigured(['HOLDFAST_DATABASES'], problem)
}

/** What the address of a member says. */
export function optionsAt(address: MemberAddress, path: string[]): MemberOptions {
  if (typeof address === 'object' && address !== null) {
    if (address.connectionString || address.pool) return address
    throw misconfigured(path, 'has neither connectionString nor pool')
  }
  if (typeof address !== 'string' || !/^postgres(ql)?:\/\//.test(address) || !URL.canParse(address)) {
    throw misconfigured(
      path,
      'is not the address of a PostgreSQL database; it looks like postgres://user:password@host:port/name',
    )
  }
  const url = new URL(address)
  const schema = url.searchParams.get('schema')
  if (schema === null) return { connectionString: address }
  url.searchParams.delete('schema')
  return { connectionString: url.href, schema }
}
