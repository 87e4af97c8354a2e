import { userInfo } from 'node:os'
import { type Command, Option } from 'commander'
import type { KeyFields, KeyState } from '../../access/access.js'
import { withDatabase } from '../connect.js'
import { bold, dim, print } from '../print.js'

interface Common {
  databaseUrl?: string
  json?: boolean
  why?: string
}

interface CreateOptions extends Common {
  role: string[]
  type?: string[]
  rateLimit?: number
  expires?: string
}

/** `holdfast keys create|trust|list|revoke|rotate`. */
export function addKeys(program: Command): void {
  const keys = program.command('keys').summary('create, list, rotate and revoke the API keys of services')
  keys.description('Manages the keys that services, remote workers and people send to the HTTP API.')
  const subcommand = (name: string, description: string) =>
    keys
      .command(name)
      .description(description)
      .addOption(
        new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name').env('DATABASE_URL'),
      )
      .option('--json', 'answer in JSON')
  const why = ['--why <text>', 'the reason, for the audit log'] as const

  subcommand(
    'create',
    'Creates a key for a service and prints it; it cannot be shown again. A service has at most two live keys.',
  )
    .argument('<service>', 'whose key it is, such as billing')
    .requiredOption('--role <role...>', 'producer, worker, viewer, operator, admin, or a role of your own')
    .option('--type <type...>', 'the job types that it may use (default: all)')
    .addOption(new Option('--rate-limit <n>', 'requests a second (default: 1000)').argParser(Number))
    .option('--expires <time>', 'how long it is valid, such as 90d (default: until revoked)')
    .option(...why)
    .action(create)
  subcommand('trust', 'Accepts client certificates of a subject as a service, if the server has TLS and asks for them.')
    .argument('<service>', 'the service that they identify, such as billing')
    .argument('<subject>', 'the common name of the certificate, or its SHA-256 fingerprint')
    .requiredOption('--role <role...>', 'producer, worker, viewer, operator, admin, or a role of your own')
    .option('--type <type...>', 'the job types that they may use (default: all)')
    .addOption(new Option('--rate-limit <n>', 'requests a second (default: 1000)').argParser(Number))
    .option('--expires <time>', 'how long they are accepted, such as 90d (default: until revoked)')
    .option(...why)
    .action(trust)
  subcommand('list', 'Lists keys: whose they are, what they allow, when they were used last.')
    .argument('[service]', 'list only the keys of this service')
    .action(list)
  subcommand('revoke', 'Revokes a key; servers stop accepting it within two seconds.')
    .argument('<id>', 'the number of the key, as list shows it', Number)
    .option(...why)
    .action(revoke)
  subcommand('rotate', 'Creates a second key with the same rights; the old one stays valid for a day.')
    .argument('<id>', 'the number of the key, as list shows it', Number)
    .option('--grace <time>', 'how long the old one stays valid, such as 1h')
    .option(...why)
    .action(rotate)
}

async function create(service: string, options: CreateOptions): Promise<void> {
  const made = await withDatabase(options.databaseUrl, 'to keep the key in', (holdfast) =>
    holdfast.access.createKey(fieldsOf(service, options), me(options)),
  )
  show(options, made, () => shownOnce(made))
}

async function trust(service: string, subject: string, options: CreateOptions): Promise<void> {
  const made = await withDatabase(options.databaseUrl, 'to keep it in', (holdfast) =>
    holdfast.access.trustCertificate(subject, fieldsOf(service, options), me(options)),
  )
  show(options, made, () => `Certificates of ${made.subject} are accepted as ${service}. To revoke that, revoke key ${made.id}.`)
}

function fieldsOf(service: string, { role, type, rateLimit, expires }: CreateOptions): KeyFields {
  return {
    ...{ service, roles: role },
    ...(type === undefined ? {} : { types: type }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    ...(expires === undefined ? {} : { expires }),
  }
}

async function list(service: string | undefined, options: Common): Promise<void> {
  const keys = await withDatabase(options.databaseUrl, 'to look into', (holdfast) => holdfast.access.keys(service))
  show(options, keys, () => (keys.length === 0 ? 'There are no keys.' : keys.map(described).join('\n')))
}

async function revoke(id: number, options: Common): Promise<void> {
  const key = await withDatabase(options.databaseUrl, 'to look into', (holdfast) => holdfast.access.revokeKey(id, me(options)))
  show(options, key, () => `Key ${id} of ${key.service} is revoked.`)
}

async function rotate(id: number, options: Common & { grace?: string }): Promise<void> {
  const grace = options.grace === undefined ? {} : { grace: options.grace }
  const made = await withDatabase(options.databaseUrl, 'to keep the key in', (holdfast) =>
    holdfast.access.rotateKey(id, me(options), grace),
  )
  show(options, made, () => shownOnce(made))
}

/** The user of this terminal, for the audit log. */
function me({ why }: Common) {
  return { by: userInfo().username, from: 'cli', ...(why === undefined ? {} : { why }) }
}

function show(options: Common, answer: object, inWords: () => string): void {
  print(options.json ? JSON.stringify(answer, null, 2) : inWords())
}

function shownOnce(made: KeyState & { key: string }): string {
  return `${bold(made.key)}\n${dim(`Key ${made.id} of ${made.service}. It cannot be shown again.`)}`
}

function described(key: KeyState): string {
  const state = key.revokedAt ? 'revoked' : key.live ? 'live' : 'expired'
  const used = key.lastUsedAt ? `last used ${key.lastUsedAt.toISOString().slice(0, 16)}Z` : 'never used'
  const types = key.types ? key.types.join(' ') : 'all types'
  const ends = key.live && key.expiresAt ? `  until ${key.expiresAt.toISOString().slice(0, 16)}Z` : ''
  return `${String(key.id).padStart(4)}  ${key.service}  ${key.subject ?? `${key.prefix}…`}  ${state}${ends}  ${key.roles.join(' ')}  ${types}  ${used}`
}
