import type { Permission } from '../api/permissions.js'
import type { FoundKeyRow } from '../store/access-rows.js'

/** Who sent a request: the service of its key, session or certificate, or a person. */
export interface Caller {
  /** The number of its key; null: the key of the installation, or a person. */
  key: number | null
  /** The service the key was made for: the actor in the audit log and the owner of jobs. */
  service: string
  permissions: ReadonlySet<Permission>
  /** The job types it is for; undefined: all. */
  types: ReadonlySet<string> | undefined
  /** Requests a second. */
  rateLimit: number
}

/** Turns the row of a key, or of a person's session, into its caller. */
export function callerOf(found: Omit<FoundKeyRow, 'hash' | 'id'> & { id: number | null }): Caller {
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
