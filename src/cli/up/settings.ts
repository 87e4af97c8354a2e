import { lanesFromEnvironment } from '../../flow/lane-environment.js'
import { Checker } from '../../job/checker.js'
import { type LogLevel, readLogLevel } from '../../job/log-level.js'
import { refuseMisspelt } from '../../job/variable-names.js'
import { checkTraceUrl } from '../../server/trace-url.js'
import { checkDatabaseUrl } from '../database-url.js'
import { Given, readList, readSwitch } from '../given.js'
import { type Listening, readListening } from '../listening.js'

export interface StartSettings extends Listening {
  /** Undefined: a Postgres of our own. */
  databaseUrl: string | undefined
  demo: boolean
  logLevel: LogLevel
  /** Hosts that alerts may be sent to at a private address. */
  alertHosts: string[]
  /** Where the dashboard links traces to. */
  traceUrl: string | undefined
}

/** Reads the environment, and refuses values that were probably not meant. */
export function readStartSettings(env: Readonly<Record<string, string | undefined>>): StartSettings {
  const given = new Given(env)
  const check = new Checker()
  refuseMisspelt(check, env)
  check.read(() => lanesFromEnvironment(env), undefined)
  if (env.DATABASE_URL) check.read(() => checkDatabaseUrl(env.DATABASE_URL as string, 'DATABASE_URL'), undefined)
  const traceUrl = given.of('HOLDFAST_TRACE_URL')
  const listening = check.read(() => readListening(given), undefined)
  const settings = {
    databaseUrl: env.DATABASE_URL || undefined,
    demo: check.read(() => readSwitch(given.of('HOLDFAST_DEMO'), true), true),
    logLevel: check.read(() => readLogLevel(given.of('HOLDFAST_LOG_LEVEL')), 'info'),
    alertHosts: readList(given.of('HOLDFAST_ALERT_HOSTS')),
    traceUrl: check.read(() => traceUrl.value && checkTraceUrl(traceUrl.value, traceUrl.name), undefined) || undefined,
  }
  check.done('invalid_configuration', 'the environment has problems')
  return { ...settings, ...(listening as Listening) }
}
