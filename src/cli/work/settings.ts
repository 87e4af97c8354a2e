import { lanesFromEnvironment } from '../../flow/lane-environment.js'
import { Checker } from '../../job/checker.js'
import { readLogLevel } from '../../job/log-level.js'
import { refuseMisspelt } from '../../job/variable-names.js'
import { addressOfUp, checkDatabaseUrl } from '../database-url.js'
import { Given, readList, readPort } from '../given.js'

/** What `holdfast work` takes on the command line for what the environment can say too. */
export interface WorkEnvironment {
  databaseUrl?: string
  healthPort?: string
  healthHost?: string
}

export interface WorkSettings {
  databaseUrl: string
  /** Where probes are answered; undefined: nowhere. */
  healthPort: number | undefined
  healthHost: string
  alertHosts: string[]
}

/** Reads the options and the environment of a worker, and throws everything that is wrong with them at once. */
export function readWorkSettings(env: Readonly<Record<string, string | undefined>>, options: WorkEnvironment): WorkSettings {
  const given = new Given(env, { ...options })
  const check = new Checker()
  refuseMisspelt(check, env)
  const database = given.of('DATABASE_URL', '--database-url')
  if (!database.value) {
    check.wrong(['DATABASE_URL'], `is missing; a worker needs a database, or --database-url${addressOfUp()}`)
  } else check.read(() => checkDatabaseUrl(database.value as string, database.name), undefined)
  check.read(() => lanesFromEnvironment(env), undefined)
  check.read(() => readLogLevel(given.of('HOLDFAST_LOG_LEVEL')), 'info')
  const settings = {
    databaseUrl: database.value ?? '',
    healthPort: check.read(() => readPort(given.of('HOLDFAST_HEALTH_PORT', '--health-port')), undefined),
    healthHost: given.of('HOLDFAST_HEALTH_HOST', '--health-host').value || '127.0.0.1',
    alertHosts: readList(given.of('HOLDFAST_ALERT_HOSTS')),
  }
  check.done('invalid_configuration', 'the worker cannot start')
  return settings
}
