import { readFileSync } from 'node:fs'
import { Checker } from '../../job/checker.js'
import { showValue } from '../../job/failure.js'
import { misconfigured } from '../../job/refused.js'
import { inTheOpen, isLoopback, type TlsOptions } from '../../server/tls.js'
import { checkDatabaseUrl } from '../database-url.js'

export interface StartSettings {
  host: string
  tls: TlsOptions | undefined
  allowInsecure: boolean
  /** Undefined: the usual port, or the next free one. */
  port: number | undefined
  /** Undefined: a Postgres of our own. */
  databaseUrl: string | undefined
  demo: boolean
  logLevel: string
  /** Hosts that alerts may be sent to at a private address. */
  alertHosts: string[]
}

/** Reads the environment, and refuses values that were probably not meant. */
export function readStartSettings(env: NodeJS.ProcessEnv): StartSettings {
  const check = new Checker()
  if (env.DATABASE_URL) check.read(() => checkDatabaseUrl(env.DATABASE_URL as string, 'DATABASE_URL'), undefined)
  const host = env.HOLDFAST_HOST || '127.0.0.1'
  const { tls, allowInsecure } = check.read(() => readTls(env), { tls: undefined, allowInsecure: true })
  // The server would refuse it too, but only after everything else was started.
  if (!tls && !allowInsecure && !isLoopback(host)) check.read(() => refuseOpen(host), undefined)
  const settings = {
    ...{ host, tls, allowInsecure },
    port: check.read(() => readPort(env.PORT), undefined),
    databaseUrl: env.DATABASE_URL || undefined,
    demo: check.read(() => readSwitch('HOLDFAST_DEMO', env.HOLDFAST_DEMO, true), true),
    logLevel: check.read(() => readLogLevel(env.HOLDFAST_LOG_LEVEL), 'info'),
    alertHosts: alertHostsFrom(env),
  }
  check.done('invalid_configuration', 'the environment has problems')
  return settings
}

function refuseOpen(host: string): never {
  throw inTheOpen(host)
}

/** Such as HOLDFAST_ALERT_HOSTS=alerts.internal,localhost:9000. */
export function alertHostsFrom(env: NodeJS.ProcessEnv): string[] {
  return (env.HOLDFAST_ALERT_HOSTS ?? '').split(',').flatMap((host) => host.trim() || [])
}

function readPort(value: string | undefined): number | undefined {
  if (!value) return undefined
  const port = Number(value)
  if (/^\d+$/.test(value) && port <= 65_535) return port
  throw misconfigured('PORT', `is ${showValue(value)}; it must be a whole number from 0 to 65535 (0 means any free port)`)
}

function readTls(env: NodeJS.ProcessEnv): Pick<StartSettings, 'tls' | 'allowInsecure'> {
  const allowInsecure = readSwitch('HOLDFAST_ALLOW_INSECURE', env.HOLDFAST_ALLOW_INSECURE, false)
  const cert = readPem('HOLDFAST_TLS_CERT', env)
  const key = readPem('HOLDFAST_TLS_KEY', env)
  const ca = readPem('HOLDFAST_TLS_CA', env)
  if (!cert !== !key)
    throw misconfigured(cert ? 'HOLDFAST_TLS_KEY' : 'HOLDFAST_TLS_CERT', 'is missing; TLS needs a certificate and its key')
  if (!cert || !key) {
    if (ca) throw misconfigured('HOLDFAST_TLS_CERT', 'is missing; client certificates need a server with TLS')
    return { tls: undefined, allowInsecure }
  }
  const clients = readClients(env.HOLDFAST_TLS_CLIENTS)
  return { tls: { cert, key, ...(ca && { ca }), ...(clients && { clients }) }, allowInsecure }
}

function readPem(name: string, env: NodeJS.ProcessEnv): Buffer | undefined {
  const path = env[name]
  if (!path) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    throw misconfigured(name, `is ${showValue(path)}, which cannot be read: ${(error as Error).message}`)
  }
}

function readClients(value: string | undefined): Record<string, string> | undefined {
  if (!value) return undefined
  const pairs = value.split(',').map((pair) => pair.trim().split('='))
  if (pairs.every((pair) => pair.length === 2 && pair.every((part) => part !== ''))) return Object.fromEntries(pairs)
  throw misconfigured(
    'HOLDFAST_TLS_CLIENTS',
    `is ${showValue(value)}; it must be like billing.internal=billing,shop.internal=shop`,
  )
}

function readSwitch(name: string, value: string | undefined, usual: boolean): boolean {
  switch (value?.toLowerCase()) {
    case undefined:
    case '':
      return usual
    case 'on':
    case 'true':
    case '1':
      return true
    case 'off':
    case 'false':
    case '0':
      return false
  }
  throw misconfigured(name, `is ${showValue(value)}; it must be on or off`)
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

function readLogLevel(value: string | undefined): string {
  if (!value) return 'info'
  if (logLevels.includes(value)) return value
  throw misconfigured('HOLDFAST_LOG_LEVEL', `is ${showValue(value)}; it must be one of ${logLevels.join(', ')}`)
}
