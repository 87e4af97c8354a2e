import { type Command, Option } from 'commander'
import type { KeyAnswer, KeyBody, NewKeyAnswer } from '../../api/admin.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { ago, type Screen } from '../screen.js'
import { examples, why } from './jobs.js'

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

/** `holdfast keys create|trust|list|revoke|rotate`. */
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
      cli.answer(options, made, () => shownOnce(cli.screen, made))
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
    .changing(keys, 'rotate', 'Creates a second key with the same rights; the old one stays valid for a day.')
    .argument(...ofOne)
    .option('--grace <time>', 'how long the old one stays valid, such as 1h')
    .action(async (id: number, options: Common & { grace?: string }) => {
      const asked = defined({ grace: options.grace, ...why(options) })
      const made = await cli.using(options, ({ access }) => access.rotateKey(id, asked))
      cli.answer(options, made, () => shownOnce(cli.screen, made))
    })
}

function bodyOf(service: string, options: KeyOptions): KeyBody {
  const { role, type, rateLimit, expires } = options
  return { service, roles: role, ...defined({ types: type, rate_limit: rateLimit, expires, ...why(options) }) }
}

function shownOnce({ bold, dim }: Screen, made: NewKeyAnswer): string {
  return `${bold(made.key)}\n${dim(`Key ${made.id} of ${made.service}. It cannot be shown again.`)}`
}

function row(key: KeyAnswer): string[] {
  const state = key.revoked_at ? 'revoked' : key.live ? 'live' : 'expired'
  return [
    ...[String(key.id), key.service, key.subject ?? `${key.prefix}…`, state, key.live ? ago(key.expires_at) : ''],
    ...[key.roles.join(' '), key.types?.join(' ') ?? 'all', key.last_used_at === null ? 'never' : ago(key.last_used_at)],
  ]
}
