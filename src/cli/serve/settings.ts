import { readFileSync } from 'node:fs'
import { lanesFromEnvironment } from '../../flow/lane-environment.js'
import { Checker } from '../../job/checker.js'
import { type Duration, toMilliseconds } from '../../job/duration.js'
import { showValue } from '../../job/failure.js'
import { readLogLevel } from '../../job/log-level.js'
import { misconfigured } from '../../job/refused.js'
import { refuseMisspelt } from '../../job/variable-names.js'
import { shortestKey } from '../../server/callers.js'
import { checkOidc, type OidcOptions } from '../../server/oidc/options.js'
import { checkProxies } from '../../server/options.js'
import { checkPrefix } from '../../server/prefix.js'
import { checkTraceUrl } from '../../server/trace-url.js'
import { addressOfUp, checkDatabaseUrl } from '../database-url.js'
import { Given, readList } from '../given.js'
import { type Listening, readListening } from '../listening.js'

/** What `holdfast serve` takes on the command line, beside what the environment says. */
export interface ServeOptions {
  databaseUrl?: string
  schema?: string
  migrate?: boolean
  work?: string
  upkeep?: boolean
  concurrency?: number
  grace: string
  drain: string
}

export interface ServeSettings extends Listening {
  databaseUrl: string
  adminKey: string | undefined
  oidc: OidcOptions | undefined
  prefix: string
  trustProxy: readonly string[]
  alertHosts: string[]
  traceUrl: string | undefined
  graceMs: number
  drain: Duration
}

/** Reads the options and the environment, and throws everything that is wrong with them at once. */
export function readServeSettings(env: Readonly<Record<string, string | undefined>>, options: ServeOptions): ServeSettings {
  const given = new Given(env, { ...options })
  const check = new Checker()
  refuseMisspelt(check, env)
  const { databaseUrl = '' } = options
  if (databaseUrl === '') {
    check.wrong(['DATABASE_URL'], `is missing; the server needs a database, or --database-url${addressOfUp()}`)
  } else check.read(() => checkDatabaseUrl(databaseUrl, 'DATABASE_URL'), undefined)
  const listening = check.read(() => readListening(given), undefined)
  const prefix = given.of('HOLDFAST_PREFIX', '--prefix')
  const traceUrl = given.of('HOLDFAST_TRACE_URL')
  const proxies = given.of('HOLDFAST_TRUST_PROXY', '--trust-proxy')
  check.read(() => readLogLevel(given.of('HOLDFAST_LOG_LEVEL')), 'info')
  const settings = {
    databaseUrl,
    adminKey: check.read(() => readAdminKey(given), undefined),
    oidc: check.read(() => readOidc(given), undefined),
    prefix: check.read(() => checkPrefix(prefix.value ?? '', prefix.name), ''),
    trustProxy: check.read(() => checkProxies(readList(proxies), proxies.name), []),
    alertHosts: readList(given.of('HOLDFAST_ALERT_HOSTS')),
    traceUrl: check.read(() => traceUrl.value && checkTraceUrl(traceUrl.value, traceUrl.name), undefined) || undefined,
    graceMs: check.read(() => toMilliseconds(options.grace, '--grace'), 0),
    drain: options.drain,
  }
  check.read(() => toMilliseconds(options.drain, '--drain'), 0)
  if (options.upkeep || options.work !== undefined) check.read(() => lanesFromEnvironment(env), undefined)
  if (options.upkeep && options.work !== undefined)
    check.wrong(['--upkeep'], 'is not needed with --work, whose worker does upkeep too')
  if (options.concurrency !== undefined && options.work === undefined) check.wrong(['--concurrency'], 'is for --work')
  check.done('invalid_configuration', 'the server cannot start')
  return { ...settings, ...(listening as Listening) }
}

/** Undefined: people log in with keys. */
function readOidc(given: Given): OidcOptions | undefined {
  const of = (name: string) => given.of(`HOLDFAST_OIDC_${name}`).value || undefined
  const [issuer, clientId, clientSecret, url] = [of('ISSUER'), of('CLIENT_ID'), of('CLIENT_SECRET'), of('URL')]
  const pairs = readList(given.of('HOLDFAST_OIDC_ROLES'))
  if ([issuer, clientId, clientSecret, url, ...pairs].every((one) => one === undefined)) return undefined
  const roles: Record<string, string[]> = {}
  for (const pair of pairs) {
    const [group = '', role = ''] = pair.split('=').map((part) => part.trim())
    if (group === '' || role === '') {
      throw misconfigured(['HOLDFAST_OIDC_ROLES'], `has ${showValue(pair)}; it must be pairs such as on-call=operator,*=viewer`)
    }
    roles[group] = [...(Object.hasOwn(roles, group) ? (roles[group] ?? []) : []), role]
  }
  const options = {
    issuer: issuer ?? '',
    clientId: clientId ?? '',
    url: url ?? '',
    roles,
    ...(clientSecret !== undefined && { clientSecret }),
  }
  checkOidc(options, (field) => `HOLDFAST_OIDC_${field.replace(/[A-Z]/g, '_$&').toUpperCase()}`)
  return options
}

/** From the environment, or from a file that it names, as containers get their secrets. Never from the command line, which others see. */
function readAdminKey(given: Given): string | undefined {
  const [own, file] = [given.of('HOLDFAST_ADMIN_KEY'), given.of('HOLDFAST_ADMIN_KEY_FILE')]
  if (own.value && file.value) throw misconfigured([own.name], `and ${file.name} exclude each other; give one of them`)
  const name = own.value ? own.name : file.name
  const key = own.value || (file.value && contentOf(file.name, file.value))
  if (!key) return undefined
  if (/^\S+$/.test(key) && key.length >= shortestKey) return key
  throw misconfigured([name], `must have at least ${shortestKey} characters, and no spaces`)
}

function contentOf(name: string, path: string): string {
  try {
    const text = readFileSync(path, 'utf8').trim()
    if (text !== '') return text
  } catch (error) {
    throw misconfigured([name], `is ${showValue(path)}, which cannot be read: ${(error as Error).message}`)
  }
  throw misconfigured([name], `is ${showValue(path)}, which is empty`)
}
