import type { FoundKeyRow } from '../store/access-rows.js'

/** Everything a key can allow, with what it means to a person. `admin` allows all the others. */
export const permissions = {
  'jobs:read': 'See jobs: those of its own service, and with workers:view those of all',
  'jobs:enqueue': 'Enqueue jobs of the types the key is for',
  'jobs:cancel': 'Cancel jobs it sees, and approve or reject those of others',
  'jobs:work': 'Claim and settle jobs as a worker',
  'workers:view': 'See lanes, workers, depths, gates and the jobs of all services',
  'workers:manage': 'Change lanes, limits, pauses, breakers and the priority of jobs',
  'types:manage': 'Change priority, attempts, timeout and backoff of a known job type, by a worker’s registration',
  'dlq:manage': 'Replay and discard dead letters',
  admin: 'Everything, also keys, roles and the audit log',
} as const satisfies Record<string, string>

export type Permission = keyof typeof permissions

/** Whoever asks for something: what a key stands for. */
export interface Caller {
  /** The number of its key; null: the key of the installation. */
  key: number | null
  /** The service the key was made for; it stands as the actor in the audit log and as the owner of jobs. */
  service: string
  permissions: ReadonlySet<Permission>
  /** The job types it is for; undefined: all. */
  types: ReadonlySet<string> | undefined
  /** Requests a second. */
  rateLimit: number
}

/** What was found of a key, as whom it stands for. */
export function callerOf(found: Omit<FoundKeyRow, 'hash'>): Caller {
  return {
    key: found.id,
    service: found.service,
    permissions: new Set(found.permissions as Permission[]),
    types: found.types === null ? undefined : new Set(found.types),
    rateLimit: found.rate,
  }
}

export function allows(caller: Caller, permission: Permission): boolean {
  return caller.permissions.has(permission) || caller.permissions.has('admin')
}

export function allowsType(caller: Caller, type: string): boolean {
  return caller.types === undefined || caller.types.has(type)
}

/** The service whose jobs the caller sees; undefined: everybody's. */
export function onlyOwn(caller: Caller): string | undefined {
  return allows(caller, 'workers:view') ? undefined : caller.service
}
