import type { Checker } from '../job/checker.js'
import { nearest } from '../job/nearest.js'
import { variables } from './environment.js'

type Environment = Readonly<Record<string, string | undefined>>

const prefix = 'HOLDFAST_'
const lanes = 'HOLDFAST_LANE_'
const known = variables.map(({ name }) => name)
const ours = known.filter((name) => name.startsWith(prefix) && !name.startsWith(lanes))

/** Kubernetes gives every container such variables of each service, also of one that is called holdfast. */
const ofKubernetes = /^HOLDFAST_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)$/

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
