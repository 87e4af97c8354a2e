import { type Command, Option } from 'commander'
import type { KeyAnswer, KeyBody, NewKeyAnswer } from '../../api/admin.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { ago } from '../screen.js'
import { why } from './jobs.js'

interface KeyOptions extends Common {
  role: string[]
  type?: string[]
  rateLimit?: number
  expires?: string
}

const columns = [
  { head: 'KEY', right: true },
  { head: 'SERVICE', cut: true },
  { head: 'BEGINS WITH', cut: true },
  { head: 'STATE' },
  { head: 'ENDS', right: true },
  { head: 'ROLES', cut: true },
  { head: 'TYPES', cut: true },
  { head: 'USED', right: true },
]

/** `holdfast keys create|trust|list|revoke|sign-out|rotate`. */
export function addKeys(program: Command, cli: Cli): void {
  const keys = program.command('keys').summary('create, list, rotate and revoke the API keys of services')
  keys.description('Manages the keys that services, remote workers and people send to the HTTP API.')
  const ofOne = ['<id>', 'the number of the key, as list shows it', Number] as const
  const withRights = (command: Command, whose: string) =>
    command
      .requiredOption('--role <role...>', 'producer, worker, viewer, operator, admin, or a role of your own')
      .option('--type <type...>', `the job types that ${whose} may use (default: all)`)
      .addOption(new Option('--rate-limit <n>', 'requests a second (default: 1000)').argParser(Number))
      .option('--expires <time>', `how long ${whose} is valid, such as 90d (default: until revoked)`)

  const create = 'Creates a key for a service and prints it; it cannot be shown again. A service has at most two live keys.'
  withRights(cli.changing(keys, 'create', create).argument('<service>', 'whose key it is, such as billing'), 'it')
    .addHelpText('after', examples('keys create billing --role producer --type send_invoice --expires 90d'))
    .action(async (service: string, options: KeyOptions) => {
      const made = await cli.using(options, ({ access }) => access.createKey(bodyOf(service, options)))
      showOnce(cli, options, made)
    })
  const trust = 'Accepts client certificates of a subject as a service, if the server has TLS and asks for them.'
  withRights(
    cli
      .changing(keys, 'trust', trust)
      .argument('<service>', 'the service that they identify, such as billing')
      .argument('<subject>', 'the common name of the certificate, or its SHA-256 fingerprint'),
    'the certificate',
  ).action(async (service: string, subject: string, options: KeyOptions) => {
    const made = await cli.using(options, ({ access }) => access.trustCertificate({ subject, ...bodyOf(service, options) }))
    const said = `Certificates of ${made.subject} are accepted as ${service}. To revoke that, revoke key ${made.id}.`
    cli.answer(options, made, () => said)
  })
  cli
    .looking(keys, 'list', 'Lists keys: whose they are, what they allow, when they were used last.')
    .alias('ls')
    .argument('[service]', 'list only the keys of this service')
    .action((service: string | undefined, options: Common) =>
      cli.show(
        options,
        async ({ access }) => ({ keys: await access.keys(service) }),
        (found) => cli.screen.table(columns, found.keys.map(row), 'There are no keys.'),
      ),
    )
  cli
    .destroying(keys, 'revoke', 'Revokes a key; servers stop accepting it within two seconds.')
    .argument(...ofOne)
    .action(async (id: number, options: Common) => {
      await cli.confirm(options, `revoke key ${id}`)
      const key = await cli.using(options, ({ access }) => access.revokeKey(id, why(options)))
      cli.answer(options, key, () => `Key ${id} of ${key.service} is revoked.`)
    })
  cli
    .destroying(keys, 'sign-out', 'Ends every session of a person who signed in through a provider, within two seconds.')
    .argument('<person>', 'as the audit log names them, such as person:ada@example.com')
    .action(async (person: string, options: Common) => {
      await cli.confirm(options, `end the sessions of ${person}`)
      const done = await cli.using(options, ({ access }) => access.endSessions(person, why(options)))
      const count = `${done.ended} ${done.ended === 1 ? 'session' : 'sessions'}`
      cli.answer(options, done, () => `${count} of ${person} ended. Who may still sign in at the provider can come back.`)
    })
  cli
    .changing(keys, 'rotate', 'Creates a second key with the same rights; the old one stays valid for a day.')
    .argument(...ofOne)
    .option('--grace <time>', 'how long the old one stays valid, such as 1h')
    .action(async (id: number, options: Common & { grace?: string }) => {
      const asked = defined({ grace: options.grace, ...why(options) })
      const made = await cli.using(options, ({ access }) => access.rotateKey(id, asked))
      showOnce(cli, options, made)
    })
}

function bodyOf(service: string, options: KeyOptions): KeyBody {
  const { role, type, rateLimit, expires } = options
  return { service, roles: role, ...defined({ types: type, rate_limit: rateLimit, expires, ...why(options) }) }
}

/** The key alone goes to standard output, so that a script can keep what a command printed. */
function showOnce(cli: Cli, options: Common, made: NewKeyAnswer): void {
  const { bold, dim } = cli.screen
  cli.answer(options, made, () => bold(made.key))
  if (!options.json) cli.io.err.write(`${dim(`Key ${made.id} of ${made.service}. It cannot be shown again.`)}\n`)
}

function row(key: KeyAnswer): string[] {
  const state = key.revoked_at ? 'revoked' : key.live ? 'live' : 'expired'
  return [
    ...[String(key.id), key.service, key.subject ?? `${key.prefix}…`, state, key.live ? ago(key.expires_at) : ''],
    ...[key.roles.join(' '), key.types?.join(' ') ?? 'all', key.last_used_at === null ? 'never' : ago(key.last_used_at)],
  ]
}
