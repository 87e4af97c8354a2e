import { Checker } from './checker.js'
import { nearest } from './nearest.js'

type Environment = Readonly<Record<string, string | undefined>>

/** The name of every variable that Holdfast reads. What each is for stands with the command line, so that a producer does not load it. */
export const variableNames = [
  'DATABASE_URL',
  'HOLDFAST_LISTEN_URL',
  'HOLDFAST_READ_URL',
  'HOLDFAST_WAKE_URL',
  'HOLDFAST_SCHEMA',
  'HOLDFAST_DATABASES',
  'HOLDFAST_URL',
  'HOLDFAST_KEY',
  'HOLDFAST_ENCRYPTION_KEYS',
  'HOLDFAST_ENCRYPTION_CURRENT',
  'HOLDFAST_ENCRYPTION_ALL',
  'HOLDFAST_ENCRYPTION_STRICT',
  'HOLDFAST_REDACT',
  'HOLDFAST_LANE_<NAME>_<FIELD>',
  'HOLDFAST_LOG_LEVEL',
  'HOLDFAST_ALERT_HOSTS',
  'HOLDFAST_BUILD',
  'HOLDFAST_HEALTH_PORT',
  'HOLDFAST_HEALTH_HOST',
  'HOLDFAST_POSTGRES_BIN',
  'HOLDFAST_DEMO',
  'PORT',
  'HOLDFAST_HOST',
  'HOLDFAST_ALLOW_INSECURE',
  'HOLDFAST_TLS_CERT',
  'HOLDFAST_TLS_KEY',
  'HOLDFAST_TLS_CA',
  'HOLDFAST_TLS_CLIENTS',
  'HOLDFAST_ADMIN_KEY',
  'HOLDFAST_ADMIN_KEY_FILE',
  'HOLDFAST_TRACE_URL',
  'HOLDFAST_OIDC_ISSUER',
  'HOLDFAST_OIDC_CLIENT_ID',
  'HOLDFAST_OIDC_CLIENT_SECRET',
  'HOLDFAST_OIDC_URL',
  'HOLDFAST_OIDC_ROLES',
  'HOLDFAST_PREFIX',
  'HOLDFAST_TRUST_PROXY',
  'HOLDFAST_TEST_URL',
] as const
export type VariableName = (typeof variableNames)[number]

const prefix = 'HOLDFAST_'
const lanes = 'HOLDFAST_LANE_'
const known: readonly string[] = variableNames
const ours = known.filter((name) => name.startsWith(prefix) && !name.startsWith(lanes))

/** Kubernetes gives every container such variables of each service, also of one that is called holdfast. */
const ofKubernetes = /^HOLDFAST_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)$/

/** Refuses misspelt names where nothing else of the environment is checked. */
export function checkVariableNames(env: Environment): void {
  const check = new Checker()
  refuseMisspelt(check, env)
  check.done('invalid_configuration', 'the environment has problems')
}

/**
 * Adds an issue for each variable whose name is nearly one of ours. A lane's are checked by whoever reads lanes. What merely begins like ours
 * is let through, because programs around Holdfast have variables of their own.
 */
export function refuseMisspelt(check: Checker, env: Environment): void {
  for (const name of namesIn(env)) {
    const meant = meantBy(name)
    if (meant !== undefined) check.wrong([name], `is not known (did you mean "${meant}"?)`)
  }
}

/** The variables that begin like ours, and that nothing reads. */
export function unreadNames(env: Environment): string[] {
  return namesIn(env).filter((name) => name.startsWith(prefix) && meantBy(name) === undefined)
}

function namesIn(env: Environment): string[] {
  return Object.keys(env).filter(
    (name) => env[name] !== undefined && !known.includes(name) && !name.startsWith(lanes) && !ofKubernetes.test(name),
  )
}

/** The names are compared without what they all begin with, which would make any two of them alike. */
function meantBy(name: string): string | undefined {
  if (!/^HOLDFAST_/i.test(name)) {
    // Nobody else's name is so near to the whole of one of ours.
    return name.length > prefix.length && name[0]?.toUpperCase() === 'H' ? nearest(name, ours) : undefined
  }
  const meant = nearest(
    name.slice(prefix.length),
    ours.map((one) => one.slice(prefix.length)),
  )
  return meant === undefined ? undefined : prefix + meant
}
