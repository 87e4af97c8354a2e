import type { VariableName } from '../job/variable-names.js'

/** A variable of the environment: who reads it, and what it means. */
export interface Variable {
  name: VariableName
  /** The commands that read it, or `library` for every program that makes a Holdfast, `worker` for every worker. */
  readBy: readonly ('library' | 'worker' | 'up' | 'serve' | 'work' | 'cli' | 'testing')[]
  /** What it is when it is not set. */
  otherwise: string
  /** What it may be. */
  range: string
  what: string
}

const postgres = 'an address as postgres://user:password@host:port/name'
const onOrOff = '1 or 0'
const file = 'a file that can be read'
const pairs = 'pairs with commas'
const address = 'an address of this machine'
const port = '0 to 65,535; 0: any free one'

/** Every variable that Holdfast reads. Help texts and docs/configuration.md are made from this table. */
export const variables: readonly Variable[] = [
  {
    name: 'DATABASE_URL',
    readBy: ['library', 'cli'],
    otherwise: 'none; `up` starts a PostgreSQL of its own',
    range: postgres,
    what: 'use this PostgreSQL (14 or later), as postgres://user:password@host:port/name',
  },
  {
    name: 'HOLDFAST_LISTEN_URL',
    readBy: ['library'],
    otherwise: 'where everything goes',
    range: postgres,
    what: 'the database past a pooler in transaction mode, for LISTEN alone',
  },
  {
    name: 'HOLDFAST_READ_URL',
    readBy: ['library'],
    otherwise: 'none',
    range: postgres,
    what: 'a streaming standby, from which a server reads lists, metrics and what the dashboard shows',
  },
  {
    name: 'HOLDFAST_WAKE_URL',
    readBy: ['library'],
    otherwise: 'none',
    range: 'an address as redis://host:6379',
    what: 'a Redis that wakes idle workers in place of LISTEN, as redis://host:6379',
  },
  {
    name: 'HOLDFAST_SCHEMA',
    readBy: ['library', 'cli'],
    otherwise: 'holdfast',
    range: 'a name without quotes, dollar signs and backslashes, that does not begin with pg_',
    what: 'the database schema that holds everything',
  },
  {
    name: 'HOLDFAST_DATABASES',
    readBy: ['library'],
    otherwise: 'none',
    range: 'pairs with commas; a name has 1 to 32 small letters, digits and underscores',
    what: 'several databases as one system, each with its name: eu=postgres://…,us=postgres://…',
  },
  {
    name: 'HOLDFAST_URL',
    readBy: ['cli'],
    otherwise: 'none',
    range: 'an http or https address',
    what: 'look and operate by way of this server in place of the database, such as https://jobs.example.com',
  },
  {
    name: 'HOLDFAST_KEY',
    readBy: ['cli'],
    otherwise: 'none',
    range: 'a key as keys create prints it',
    what: 'the key for that server',
  },
  {
    name: 'HOLDFAST_ENCRYPTION_KEYS',
    readBy: ['library'],
    otherwise: 'none',
    range: 'pairs with commas; a key has 256 bits',
    what: 'keys for encrypted payloads, as name:base64,name:base64',
  },
  {
    name: 'HOLDFAST_ENCRYPTION_CURRENT',
    readBy: ['library'],
    otherwise: 'the last of the keys',
    range: 'the name of one of the keys',
    what: 'the name of the key that new payloads are encrypted with',
  },
  {
    name: 'HOLDFAST_ENCRYPTION_ALL',
    readBy: ['library'],
    otherwise: '0',
    range: onOrOff,
    what: '1 encrypts the payloads of every type',
  },
  {
    name: 'HOLDFAST_ENCRYPTION_STRICT',
    readBy: ['library'],
    otherwise: '0',
    range: onOrOff,
    what: '1 refuses plain payloads of encrypted types',
  },
  {
    name: 'HOLDFAST_REDACT',
    readBy: ['library'],
    otherwise: 'none',
    range: 'paths as in `redact` of a type',
    what: 'paths that people do not see, with commas',
  },
  {
    name: 'HOLDFAST_LANE_<NAME>_<FIELD>',
    readBy: ['worker'],
    otherwise: 'what the table of lanes says',
    range: 'SLOTS and WORKER_SLOTS 1 to 10,000 or none; POLL 10 ms to 10 minutes; LEASE 60 s to 1 h; ENABLED true or false',
    what: 'SLOTS, WORKER_SLOTS, POLL, LEASE or ENABLED of a lane, written into its table by the first worker that starts with it',
  },
  {
    name: 'HOLDFAST_LOG_LEVEL',
    readBy: ['worker', 'up', 'serve'],
    otherwise: 'info',
    range: 'the name of a level',
    what: 'trace, debug, info, warn, error, fatal or silent',
  },
  {
    name: 'HOLDFAST_ALERT_HOSTS',
    readBy: ['up', 'serve', 'work'],
    otherwise: 'none',
    range: 'hosts, or hosts with a port',
    what: 'hosts that alerts may go to at a private address, with commas',
  },
  {
    name: 'HOLDFAST_BUILD',
    readBy: ['work', 'library'],
    otherwise: 'none',
    range: '1 to 100 letters, digits or . : + @ / _ -',
    what: 'which code the workers of this process run, such as a commit; git: the one that is checked out',
  },
  {
    name: 'HOLDFAST_HEALTH_PORT',
    readBy: ['work'],
    otherwise: 'none',
    range: port,
    what: 'the port where a worker answers /healthz, /readyz and /metrics of its process',
  },
  {
    name: 'HOLDFAST_HEALTH_HOST',
    readBy: ['work'],
    otherwise: '127.0.0.1',
    range: address,
    what: 'the address of that port; 0.0.0.0 for the probes of a container platform',
  },
  {
    name: 'HOLDFAST_POSTGRES_BIN',
    readBy: ['up'],
    otherwise: 'found on this machine',
    range: 'a directory, or "embedded"',
    what: 'the directory of the PostgreSQL to start, or "embedded" for that of the npm package alone',
  },
  { name: 'HOLDFAST_DEMO', readBy: ['up'], otherwise: 'on', range: 'on or off', what: 'off leaves out the demo jobs' },
  {
    name: 'PORT',
    readBy: ['up', 'serve'],
    otherwise: '7070; for `up` the next free one',
    range: port,
    what: 'the port to listen on, and no other',
  },
  {
    name: 'HOLDFAST_HOST',
    readBy: ['up', 'serve'],
    otherwise: '127.0.0.1',
    range: address,
    what: 'the address to listen on; any other than this machine needs TLS, or HOLDFAST_ALLOW_INSECURE=1',
  },
  {
    name: 'HOLDFAST_ALLOW_INSECURE',
    readBy: ['up', 'serve'],
    otherwise: '0',
    range: onOrOff,
    what: '1 to listen on a network without TLS, where keys can be read',
  },
  {
    name: 'HOLDFAST_TLS_CERT',
    readBy: ['up', 'serve'],
    otherwise: 'no TLS',
    range: file,
    what: "file with the server's certificate, in PEM",
  },
  { name: 'HOLDFAST_TLS_KEY', readBy: ['up', 'serve'], otherwise: 'no TLS', range: file, what: 'file with its key, in PEM' },
  {
    name: 'HOLDFAST_TLS_CA',
    readBy: ['up', 'serve'],
    otherwise: 'no client certificates',
    range: file,
    what: 'file with the certificate that signs those of clients, which may then come in place of a key',
  },
  {
    name: 'HOLDFAST_TLS_CLIENTS',
    readBy: ['up', 'serve'],
    otherwise: 'as keys trust says',
    range: pairs,
    what: 'which service they are, as billing.internal=billing,shop.internal=shop',
  },
  {
    name: 'HOLDFAST_ADMIN_KEY',
    readBy: ['serve'],
    otherwise: 'only keys in the database',
    range: '20 characters and more, no spaces',
    what: 'a key that allows everything, of at least 20 characters; the same on every server of one address',
  },
  { name: 'HOLDFAST_ADMIN_KEY_FILE', readBy: ['serve'], otherwise: 'none', range: file, what: 'or the file that holds it' },
  {
    name: 'HOLDFAST_TRACE_URL',
    readBy: ['up', 'serve'],
    otherwise: 'the id of a trace is shown',
    range: 'an http or https address with {trace} behind its host',
    what: 'where the dashboard links the trace of a job to, as https://traces.example.com/trace/{trace}',
  },
  {
    name: 'HOLDFAST_OIDC_ISSUER',
    readBy: ['serve'],
    otherwise: 'people log in with keys',
    range: 'an https address, or http on this machine',
    what: 'the OpenID Connect provider through which people sign in to the dashboard; needs openid-client',
  },
  {
    name: 'HOLDFAST_OIDC_CLIENT_ID',
    readBy: ['serve'],
    otherwise: 'none',
    range: 'a text that is not empty',
    what: 'how the provider knows this server',
  },
  {
    name: 'HOLDFAST_OIDC_CLIENT_SECRET',
    readBy: ['serve'],
    otherwise: 'none',
    range: 'a text that is not empty',
    what: 'the secret that belongs to it',
  },
  {
    name: 'HOLDFAST_OIDC_URL',
    readBy: ['serve'],
    otherwise: 'none',
    range: 'an https address, or http on this machine',
    what: 'the address of the dashboard; the provider has to allow this address with /session/oidc/callback',
  },
  {
    name: 'HOLDFAST_OIDC_ROLES',
    readBy: ['serve'],
    otherwise: 'nobody gets in',
    range: pairs,
    what: 'which role a group gives, as on-call=operator,*=viewer',
  },
  {
    name: 'HOLDFAST_PREFIX',
    readBy: ['serve'],
    otherwise: 'none',
    range: 'a path without a slash at its end',
    what: 'the path that the server is under',
  },
  {
    name: 'HOLDFAST_TRUST_PROXY',
    readBy: ['serve'],
    otherwise: 'none',
    range: 'addresses, or networks as 10.0.0.0/8',
    what: 'the proxies before it, as 10.0.0.0/8,127.0.0.1, whose X-Forwarded-For is believed',
  },
  {
    name: 'HOLDFAST_TEST_URL',
    readBy: ['testing'],
    otherwise: 'DATABASE_URL, or an embedded PostgreSQL',
    range: postgres,
    what: 'the server on which tests make their databases',
  },
]

/** What stands under the options in the help of a command. */
export function environmentHelp(command: 'up' | 'serve'): string {
  const own = variables.filter(({ name, readBy }) => name === 'DATABASE_URL' || readBy.includes(command))
  const lines = own.map(({ name, what, otherwise }) => `  ${name.padEnd(24)} ${what} (default: ${otherwise.replaceAll('`', '')})`)
  return `\nEnvironment:\n${lines.join('\n')}`
}
