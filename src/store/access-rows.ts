export interface KeyRow {
  id: number
  service: string
  prefix: string
  subject: string | null
  roles: string[]
  types: string[] | null
  rate: number
  by: string
  created: number
  expires: number | null
  revoked: number | null
  used: number | null
  live: boolean
}

/** A key as it is found by its hash. */
export interface FoundKeyRow {
  id: number
  service: string
  hash: string
  types: string[] | null
  rate: number
  permissions: string[]
}

/** A session as it is found by its hash. Without an id it is of the installation's own key, and there is nothing else. */
export interface FoundSessionRow extends Omit<FoundKeyRow, 'id' | 'hash' | 'service'> {
  id: number | null
  /** Or the person; null: the installation's own key. */
  service: string | null
  /** When it ends, or its key does. */
  ends: number
}

export interface AuditRow {
  id: string
  at: number
  actor: string
  origin: string | null
  action: string
  target: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
  why: string | null
}
