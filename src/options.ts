import type pg from 'pg'
import { Checker } from './job/checker.js'
import { type Duration, toMilliseconds } from './job/duration.js'
import { refused, wholeNumber } from './job/refused.js'
import { readRetry } from './job/retry-for.js'
import { readHosts } from './job/target-url.js'
import { refuseMisspelt } from './job/variable-names.js'
import { encryptionFrom, redactFrom } from './privacy/environment.js'
import { Privacy, type PrivacyOptions } from './privacy/privacy.js'
import { checkSchemaName, defaultSchema } from './store/schema-name.js'

/** What a Holdfast is made with. The environment stands in for what is left out. */
export interface HoldfastOptions extends PrivacyOptions {
  /**
   * Where the database is.
   * @default DATABASE_URL of the environment
   */
  connectionString?: string | undefined
  /**
   * A `pg` pool of your own instead. It is used and never closed.
   * @default none: it makes its own, to `connectionString`
   */
  pool?: pg.Pool
  /**
   * Where LISTEN goes instead, past a pooler in transaction mode. Statements never go there.
   * @default HOLDFAST_LISTEN_URL of the environment, or where everything goes
   */
  listenUrl?: string
  /**
   * A streaming standby of the database, from which a server reads lists, searches, metrics and what the dashboard shows while it is at most
   * ten seconds behind. Whatever leads to a decision is read from the primary.
   * @default HOLDFAST_READ_URL of the environment, or none
   */
  readUrl?: string
  /**
   * A Redis by whose channels producers of this library wake idle workers in place of LISTEN. Without it jobs wait for the next poll.
   * @default HOLDFAST_WAKE_URL of the environment, or none
   */
  wakeUrl?: string
  /**
   * The schema that holds everything, so that several installations can share a database.
   * @default HOLDFAST_SCHEMA of the environment, or `holdfast`
   */
  schema?: string
  /**
   * Most connections this process holds at once, beside the one that each worker of it keeps; an idle worker needs no other.
   * @range 1 to 10,000
   * @default 4
   */
  connections?: number
  /**
   * Set to false behind a pooler in transaction mode, such as PgBouncer before 1.21.
   * @default true
   */
  preparedStatements?: boolean
  /**
   * How long one statement may take before its connection is given up; connecting may take another 5 s.
   * @range 100 ms to 1 day
   * @default '20s'
   */
  statementTimeout?: Duration
  /**
   * For how long an enqueue outside of a transaction is sent again while the database is away, as in a failover; it keeps its id, so it is
   * stored once. 0 for four quick tries.
   * @range 0 to 1 hour
   * @default '30s'
   */
  retryEnqueueFor?: Duration
  /**
   * Hosts that alerts may be sent to although they are at a private address or without TLS: `alerts.internal`, `localhost:9000`.
   * @default []
   */
  alertHosts?: readonly string[]
}

const known = [
  ...['connectionString', 'pool', 'schema', 'connections', 'preparedStatements', 'statementTimeout', 'retryEnqueueFor'],
  ...['alertHosts', 'encryption', 'redact', 'listenUrl', 'readUrl', 'wakeUrl'],
]

/** Options, with what the environment says where they are left out. Throws everything that is wrong with them at once. */
export function readOptions(options: HoldfastOptions, environment: Record<string, string | undefined>) {
  const { pool, preparedStatements, connections } = options
  const check = new Checker()
  check.known(options, known)
  // What it was to say would be left out in silence: payloads would be plain, or go to another database.
  refuseMisspelt(check, environment)
  const connectionString = options.connectionString ?? environment.DATABASE_URL
  if (!connectionString && !pool) check.wrong('connectionString', 'is missing, and so is pool; or set DATABASE_URL')
  const statementTimeoutMs = check.read(() => readTimeout(options.statementTimeout ?? '20s'), 0)
  const retryEnqueueForMs = check.read(() => readRetry(options.retryEnqueueFor ?? '30s', 'retryEnqueueFor'), 0)
  if (connections !== undefined) check.read(() => wholeNumber(connections, 'connections', 1, 10_000), 1)
  const schema = check.read(() => checkSchemaName(options.schema ?? environment.HOLDFAST_SCHEMA ?? defaultSchema), '')
  const encryption = check.read(() => options.encryption ?? encryptionFrom(environment), undefined)
  const redact = options.redact ?? redactFrom(environment)
  const privacy = check.read(() => new Privacy({ ...(encryption && { encryption }), redact }), new Privacy())
  const alertHosts = check.read(() => readHosts(options.alertHosts), [])
  const address = (name: 'listenUrl' | 'readUrl' | 'wakeUrl', variable: string, kind: keyof typeof addresses) =>
    check.read(() => readAddress(options[name] ?? (environment[variable] || undefined), name, kind), undefined)
  const listenUrl = address('listenUrl', 'HOLDFAST_LISTEN_URL', 'postgres')
  const readUrl = address('readUrl', 'HOLDFAST_READ_URL', 'postgres')
  const wakeUrl = address('wakeUrl', 'HOLDFAST_WAKE_URL', 'redis')
  if (listenUrl !== undefined && wakeUrl !== undefined)
    check.wrong('wakeUrl', 'is of no use beside listenUrl: workers listen there or to the Redis; leave one out')
  check.done('invalid_configuration', 'the options of Holdfast have problems')
  const database = { connectionString, pool, listenUrl, schema, connections, preparedStatements, statementTimeoutMs }
  return { ...database, readUrl, wakeUrl, retryEnqueueForMs, privacy, alertHosts }
}

const addresses = {
  postgres: { begins: /^postgres(ql)?:\/\//, like: 'postgres://user:password@host:port/name' },
  redis: { begins: /^rediss?:\/\//, like: 'redis://host:6379' },
}

/** The message does not repeat it, because it may contain a password. */
function readAddress(url: string | undefined, name: string, kind: keyof typeof addresses): string | undefined {
  const { begins, like } = addresses[kind]
  if (url === undefined || (typeof url === 'string' && begins.test(url) && URL.canParse(url) && isWellFormed(url, kind)))
    return url
  throw refused(name, `must be an address such as ${like}`)
}

/** The drivers decode its parts, and that of Redis takes the number of a database after the host; they throw where they connect. */
function isWellFormed(url: string, kind: keyof typeof addresses): boolean {
  try {
    const { username, password, pathname } = new URL(url)
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    return kind !== 'redis' || /^\/?\d*$/.test(pathname)
  } catch {
    return false
  }
}

function readTimeout(timeout: Duration): number {
  const ms = toMilliseconds(timeout, 'statementTimeout')
  // A timer of Node that is longer than 24 days ends at once.
  if (ms >= 100 && ms <= 86_400_000) return ms
  throw refused('statementTimeout', 'must lie between 100 ms and 1 day')
}
