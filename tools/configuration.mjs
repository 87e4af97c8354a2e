// Writes docs/configuration.md from the comments on the options and the table of the environment, and docs/cli.md. Build first.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cliPage } from './cli-page.mjs'
import { declaredOptions } from './declared-options.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What stands first, in the order people meet it; other public options come after these. */
const sections = [
  ['HoldfastOptions', '`new Holdfast(options)`'],
  ['PrivacyOptions', '`new Holdfast(options)`: privacy'],
  ['EncryptionOptions', '`encryption` of a Holdfast'],
  ['TypeDefinition', '`defineType(definition)`'],
  ['IsolationOptions', '`defineType(definition)`: isolation'],
  ['ChunkDefinition', '`defineType(definition)`: several jobs in one call'],
  ['ChunkOptions', '`chunk` of a type'],
  ['TypeHooks', '`defineType(definition)`: hooks'],
  ['JobHooks', 'hooks of a type, and of `startWorker(holdfast, types, options)`'],
  ['Limits', '`limits` of a type'],
  ['Dependency', '`defineDependency(definition)`'],
  ['UniqueOption', '`unique` of a type or a job'],
  ['ApprovalOption', '`approval` of a type or a job'],
  ['JobOptions', '`enqueue(type, payload, options)`'],
  ['EnqueueOptions', '`enqueueMany(jobs, options)`'],
  ['WaitOptions', '`wait(job, options)`'],
  ['WorkerOptions', '`startWorker(holdfast, types, options)`'],
  ['ServerOptions', '`createServer`, `createHandler` and `createPlugin`'],
  ['ReadingOptions', '`reading` of a server'],
  ['TlsOptions', '`tls` of a server'],
  ['ClientOptions', '`new HoldfastClient(options)`'],
  ['RemoteServerOptions', '`startRemoteWorker(server, types, options)`: the server'],
  ['RemoteWorkerOptions', '`startRemoteWorker(server, types, options)`'],
]
const isOptions = /(?:Options?|Definition|Fields)$/

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
const code = (text) => (text === '' ? '' : `\`${text.replaceAll('`', '')}\``)
const row = (...cells) => `| ${cells.map(cell).join(' | ')} |`
const table = (heads, rows) => [row(...heads), `|${heads.map(() => '---').join('|')}|`, ...rows].join('\n')

function optionsTable(members) {
  const rows = members.map(({ name, optional, type, what, range, otherwise }) =>
    row(code(name), code(type.startsWith('(') ? 'function' : type), optional ? otherwise : 'required', range, what),
  )
  return table(['option', 'type', 'default', 'range', 'what and why'], rows)
}

export async function configurationPage() {
  const declared = declaredOptions()
  const entries = ['.', 'worker', 'server', 'client', 'remote-worker', 'testing', 'dev']
  const exported = entries.flatMap((path) => readFileSync(join(root, 'src', path, 'index.ts'), 'utf8').match(/\w+/g))
  const first = new Map(sections)
  const others = [...new Set(exported)].filter((name) => isOptions.test(name) && !first.has(name) && declared.get(name)?.length)
  const { variables } = await import('../dist/cli/environment.js')
  const options = [...sections, ...others.sort().map((name) => [name, `\`${name}\``])].map(([name, title]) => {
    if (!declared.get(name)?.length) throw new Error(`there is no declaration of ${name} with members`)
    return `### ${title}\n\n${optionsTable(declared.get(name))}\n`
  })
  const environment = variables.map(({ name, readBy, otherwise, range, what }) =>
    row(code(name), readBy.join(', '), otherwise, range, what),
  )
  return `# Configuration

Every option and variable, with its default, its range and what it is for; commands have [a page of their own](cli.md). This page is generated
from the code by \`npm run configuration\`; a test checks that it is current. Options that nobody knows are refused with the nearest
name by every function and method that takes some, before anything is stored or removed; a test calls each of them. Everything that is wrong
is in one error. So is a variable of the environment whose name is nearly one of these: unread, it would leave payloads plain or go to another
database.

Durations are milliseconds or texts such as \`'90s'\`, \`'5m'\`, \`'2h'\`, \`'1d'\`, \`'1h 30m'\`, \`'3 days'\` and \`'1 hour 30 minutes'\`: big units
before small ones, each at most once.

## Defaults that surprise

- **\`backoff\`**: a failed job waits 30 s before its second attempt, twice as long each time, and up to \`jitter\` longer, so that jobs that
  failed together do not come back together. Where only \`base\` is given, the jitter is half of it, at most 15 s.
- **\`limits.breaker\`** is on: where more than 80 % of at least 10 attempts of a type failed within 5 minutes, its jobs wait and one at a time is
  tried. Dead letters that are replayed while it is open wait too, and \`replay\` says so (\`waits\`). \`breaker: false\` turns it off.
- **\`keepResult\`** is on: what a handler returns is kept with its job, up to 64 KB, and a job that returns more ends dead.
- **\`retention\`**: completed jobs are gone after 7 days, dead ones after 30, and with them their idempotency keys.
- **\`lease\`**: the jobs of a worker that was killed run again after 60 s, not at once. It is the price of never running one twice by mistake.
- **\`dryRun\`** is off in the library and on over HTTP.

## Options

${options.join('\n')}
## The environment

${table(['variable', 'read by', 'default', 'range', 'what it is'], environment)}
`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(root, 'docs', 'configuration.md'), await configurationPage())
  writeFileSync(join(root, 'docs', 'cli.md'), await cliPage())
}
