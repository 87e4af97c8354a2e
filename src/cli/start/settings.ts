import { HoldfastError } from '../../errors.js'
import { showValue } from '../../job/failure.js'
import { checkDatabaseUrl } from '../database-url.js'

export interface StartSettings {
  /** Undefined: the usual port, or the next free one. */
  port: number | undefined
  /** Undefined: a Postgres of our own. */
  databaseUrl: string | undefined
  demo: boolean
  logLevel: string
  /** Hosts that alerts may be sent to at a private address. */
  alertHosts: string[]
}

/** Reads the environment, and refuses what was probably not meant. */
export function readStartSettings(env: NodeJS.ProcessEnv): StartSettings {
  if (env.DATABASE_URL) checkDatabaseUrl(env.DATABASE_URL, 'DATABASE_URL')
  return {
    port: readPort(env.PORT),
    databaseUrl: env.DATABASE_URL || undefined,
    demo: readDemo(env.HOLDFAST_DEMO),
    logLevel: readLogLevel(env.HOLDFAST_LOG_LEVEL),
    alertHosts: alertHostsFrom(env),
  }
}

/** As HOLDFAST_ALERT_HOSTS=alerts.internal,localhost:9000. */
export function alertHostsFrom(env: NodeJS.ProcessEnv): string[] {
  return (env.HOLDFAST_ALERT_HOSTS ?? '').split(',').flatMap((host) => host.trim() || [])
}

function readPort(value: string | undefined): number | undefined {
  if (!value) return undefined
  const port = Number(value)
  if (/^\d+$/.test(value) && port <= 65_535) return port
  throw refused('PORT', `is ${showValue(value)}; it must be a whole number from 0 to 65535 (0: any free one)`)
}

function readDemo(value: string | undefined): boolean {
  switch (value?.toLowerCase()) {
    case undefined:
    case '':
    case 'on':
    case 'true':
    case '1':
      return true
    case 'off':
    case 'false':
    case '0':
      return false
  }
  throw refused('HOLDFAST_DEMO', `is ${showValue(value)}; it must be on or off`)
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

function readLogLevel(value: string | undefined): string {
  if (!value) return 'info'
  if (logLevels.includes(value)) return value
  throw refused('HOLDFAST_LOG_LEVEL', `is ${showValue(value)}; it must be one of ${logLevels.join(', ')}`)
}

function refused(field: string, problem: string): HoldfastError {
  return new HoldfastError('invalid_configuration', `${field} ${problem}`, { field })
}
