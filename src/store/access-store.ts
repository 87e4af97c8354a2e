import type { RecordedActor } from '../job/actor.js'
import type { AuditRow, FoundKeyRow, KeyRow } from './access-rows.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** A key on its way into the database: only its hash goes there. A certificate has a subject in its place. */
export interface NewKey {
  service: string
  hash: string | null
  subject: string | null
  prefix: string
  roles: readonly string[]
  types: readonly string[] | null
  rateLimit: number
  expiresMs: number | null
}

/** Which lines of the audit log are meant; null: whatever it is. */
export interface AuditFilter {
  actor: string | null
  action: string | null
  target: string | null
  from: string | null
  to: string | null
}

/** Keys, roles and the audit log. */
export class AccessStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The key of that hash, if it lives. */
  async findKey(hash: string): Promise<FoundKeyRow | undefined> {
    return (await this.#database.query<FoundKeyRow>(statement('findKey'), [hash]))[0]
  }

  /** The certificate of one of those subjects, or else of that service, if it lives. */
  async findCertificate(subjects: readonly string[], service: string | null): Promise<Omit<FoundKeyRow, 'hash'> | undefined> {
    return (await this.#database.query<Omit<FoundKeyRow, 'hash'>>(statement('findCertificate'), [subjects, service]))[0]
  }

  async createKey(
    { service, hash, subject, prefix, roles, types, rateLimit, expiresMs }: NewKey,
    who: RecordedActor,
  ): Promise<number> {
    const values = [service, hash, subject, prefix, roles, types, rateLimit, expiresMs, who.by, who.why, who.from]
    return ((await this.#database.query<{ id: number }>(statement('createKey'), values))[0] as { id: number }).id
  }

  /** The id of the new key; null where no such key lives. */
  async rotateKey(
    id: number,
    fresh: { hash: string; prefix: string },
    graceMs: number,
    who: RecordedActor,
  ): Promise<number | null> {
    const values = [id, fresh.hash, fresh.prefix, graceMs, who.by, who.why, who.from]
    return (await this.#database.query<{ id: number | null }>(statement('rotateKey'), values))[0]?.id ?? null
  }

  /** False: there is no such key. */
  async revokeKey(id: number, who: RecordedActor): Promise<boolean> {
    const rows = await this.#database.query<{ known: boolean }>(statement('revokeKey'), [id, who.by, who.why, who.from])
    return rows[0]?.known === true
  }

  async keys(which: { service?: string; id?: number } = {}): Promise<KeyRow[]> {
    return this.#database.query(statement('readKeys'), [which.service ?? null, which.id ?? null])
  }

  /** Notes that a server let in so many requests of a service; answers with how many are left of its rate for all servers. */
  async spendRequests(service: string, rate: number, count: number): Promise<number> {
    const rows = await this.#database.query<{ left: number }>(statement('spendRequests'), [service, rate, count])
    return rows[0]?.left ?? 0
  }

  async roles(): Promise<{ name: string; permissions: string[]; builtin: boolean }[]> {
    return this.#database.query(statement('readRoles'), [])
  }

  async setRole(name: string, permissions: readonly string[], who: RecordedActor): Promise<void> {
    await this.#database.query(statement('setRole'), [name, permissions, who.by, who.why, who.from])
  }

  /** False: there is no such role. */
  async dropRole(name: string, who: RecordedActor): Promise<boolean> {
    const rows = await this.#database.query<{ known: boolean }>(statement('dropRole'), [name, who.by, who.why, who.from])
    return rows[0]?.known === true
  }

  /** Lines of the audit log before the one of that id, latest first. */
  async audit({ actor, action, target, from, to }: AuditFilter, before: string | null, limit: number): Promise<AuditRow[]> {
    return this.#database.query(statement('readAudit'), [actor, action, target, before, limit, from, to])
  }
}
