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
  const keys = program.command('keys').summary('make, list and revoke the keys of services')
  keys.description('The keys with which services, workers and people come in over HTTP.')
  const subcommand = (name: string, description: string) =>
    keys
      .command(name)
      .description(description)
      .addOption(
        new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name').env('DATABASE_URL'),
      )
      .option('--json', 'answer in JSON')
  const why = ['--why <text>', 'the reason, for the audit log'] as const

  subcommand('create', 'Makes a key for a service. It is shown this once. A service has at most two keys that live.')
    .argument('<service>', 'whose key it is, such as billing')
    .requiredOption('--role <role...>', 'producer, worker, viewer, operator, admin, or a role of your own')
    .option('--type <type...>', 'the job types it is for (default: all)')
    .addOption(new Option('--rate-limit <n>', 'requests a second (default: 1000)').argParser(Number))
    .option('--expires <time>', 'how long it lives, as 90d (default: until it is revoked)')
    .option(...why)
    .action(create)
  subcommand('trust', 'Lets client certificates of a subject stand for a service, where the server has TLS and asks for them.')
    .argument('<service>', 'who they stand for, such as billing')
    .argument('<subject>', 'the common name of the certificate, or its SHA-256 fingerprint')
    .requiredOption('--role <role...>', 'producer, worker, viewer, operator, admin, or a role of your own')
    .option('--type <type...>', 'the job types they are for (default: all)')
    .addOption(new Option('--rate-limit <n>', 'requests a second (default: 1000)').argParser(Number))
    .option('--expires <time>', 'how long that lasts, as 90d (default: until it is revoked)')
    .option(...why)
    .action(trust)
  subcommand('list', 'Lists keys: whose they are, what they allow, when they were used last.')
    .argument('[service]', 'of this service only')
    .action(list)
  subcommand('revoke', 'Ends a key at once; servers let it go within two seconds.')
    .argument('<id>', 'the number of the key, as list shows it', Number)
    .option(...why)
    .action(revoke)
  subcommand('rotate', 'Makes a second key like that one, which then lives on for a day.')
    .argument('<id>', 'the number of the key, as list shows it', Number)
    .option('--grace <time>', 'how long the old one lives on, as 1h')
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
  show(options, made, () => `Certificates of ${made.subject} stand for ${service}. Revoke it as key ${made.id}.`)
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

/** Who sits at this terminal, as far as the machine knows. */
function me({ why }: Common) {
  return { by: userInfo().username, from: 'cli', ...(why === undefined ? {} : { why }) }
}

function show(options: Common, answer: object, inWords: () => string): void {
  print(options.json ? JSON.stringify(answer, null, 2) : inWords())
}

function shownOnce(made: KeyState & { key: string }): string {
  return `${bold(made.key)}\n${dim(`Key ${made.id} of ${made.service}. It is shown this once.`)}`
}

function described(key: KeyState): string {
  const state = key.revokedAt ? 'revoked' : key.live ? 'live' : 'expired'
  const used = key.lastUsedAt ? `last used ${key.lastUsedAt.toISOString().slice(0, 16)}Z` : 'never used'
  const types = key.types ? key.types.join(' ') : 'all types'
  const ends = key.live && key.expiresAt ? `  until ${key.expiresAt.toISOString().slice(0, 16)}Z` : ''
  return `${String(key.id).padStart(4)}  ${key.service}  ${key.subject ?? `${key.prefix}…`}  ${state}${ends}  ${key.roles.join(' ')}  ${types}  ${used}`
}
