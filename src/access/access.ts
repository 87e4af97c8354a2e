import { timingSafeEqual } from 'node:crypto'
import { type Permission, permissions } from '../api/permissions.js'
import { HoldfastError } from '../errors.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { didYouMean } from '../job/nearest.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { storableText, unstorable } from '../job/text.js'
import type { KeyRow } from '../store/access-rows.js'
import type { AccessStore } from '../store/access-store.js'
import type { SessionStore } from '../store/session-store.js'
import { told } from '../store/sqlstate.js'
import { type Caller, callerOf } from './caller.js'
import { type CertificateNames, subjectOf } from './certificate.js'
import { freshKey, hashOf } from './key.js'
import { Sessions } from './sessions.js'

/** What a new key may do, and for how long. */
export interface KeyFields {
  /** Whose key it is, such as `billing`. */
  service: string
  /** Names of roles: producer, worker, viewer, operator, admin, or roles of your own. */
  roles: readonly string[]
  /**
   * The job types it may enqueue and work on.
   * @default all
   */
  types?: readonly string[]
  /**
   * Requests a second.
   * @range 1 to 1,000,000
   * @default 1_000
   */
  rateLimit?: number
  /**
   * How long it is valid, if it is not revoked before.
   * @range 1 ms to 100 years
   * @default never
   */
  expires?: Duration
}

/** A key as people may see it. */
export interface KeyState {
  id: number
  service: string
  /** Its first characters; of a certificate its subject. */
  prefix: string
  /** Whose certificate it is, as `CN` or `sha256:<fingerprint>`; null: it is a key. */
  subject: string | null
  roles: string[]
  types: string[] | null
  rateLimit: number
  live: boolean
  createdAt: Date
  createdBy: string
  expiresAt: Date | null
  revokedAt: Date | null
  /** To the minute. */
  lastUsedAt: Date | null
}

/** A named set of permissions that keys are given. */
export interface Role {
  name: string
  permissions: Permission[]
  /** Built in: it cannot be changed. */
  builtIn: boolean
}

/** Keys and roles. Each change is one transaction, with its line in the audit log. */
export class Access {
  /** Sessions of people who exchanged a key for one. @internal */
  readonly sessions: Sessions
  readonly #store: AccessStore

  /** @internal */
  constructor(store: AccessStore, sessions: SessionStore) {
    this.#store = store
    this.sessions = new Sessions(sessions)
  }

  /** Makes a key and returns it this once; only its hash is stored. */
  async createKey(fields: KeyFields, who: Actor): Promise<KeyState & { key: string }> {
    const { key, hash, prefix } = freshKey()
    const id = await told(this.#store.createKey({ ...checked(fields), hash, prefix, subject: null }, checkedActor(who)))
    return { ...(await this.#key(id)), key }
  }

  /** Accepts client certificates with that common name or fingerprint, signed by the server's `ca`, as that service. */
  async trustCertificate(subject: string, fields: KeyFields, who: Actor): Promise<KeyState> {
    const known = subjectOf(subject)
    const id = await told(
      this.#store.createKey({ ...checked(fields), hash: null, prefix: known, subject: known }, checkedActor(who)),
    )
    return this.#key(id)
  }

  /** Makes a second key with the same rights. The old one stays valid for `grace` (a day), so that clients can be changed one by one. */
  async rotateKey(id: number, who: Actor, options: { grace?: Duration } = {}): Promise<KeyState & { key: string }> {
    refuseUnknown(options, ['grace'])
    const { key, ...fresh } = freshKey()
    const graceMs = toMilliseconds(options.grace ?? '1d', 'grace')
    const made = await told(this.#store.rotateKey(keyId(id), fresh, graceMs, checkedActor(who)))
    if (made === null) throw unknownKey(id)
    return { ...(await this.#key(made)), key }
  }

  /** Revokes a key. Servers that have cached it stop accepting it within two seconds. */
  async revokeKey(id: number, who: Actor): Promise<KeyState> {
    if (!(await told(this.#store.revokeKey(keyId(id), checkedActor(who))))) throw unknownKey(id)
    return this.#key(id)
  }

  /** Every key, of one service if it is named; also those that are revoked or have expired. */
  async keys(service?: string): Promise<KeyState[]> {
    return (await told(this.#store.keys(service === undefined ? {} : { service: storableText(service, 'service') }))).map(
      keyState,
    )
  }

  /** Every role, built in or your own. */
  async roles(): Promise<Role[]> {
    return (await told(this.#store.roles())).map(({ name, permissions, builtin }) => ({
      name,
      permissions: permissions as Permission[],
      builtIn: builtin,
    }))
  }

  /** Makes a role, or changes its permissions, also for the keys that have it. */
  async setRole(name: string, allowed: readonly Permission[], who: Actor): Promise<void> {
    if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,62}$/.test(name)) {
      throw refused('name', 'must have 1 to 63 lower-case letters, digits, _ or -, and begin with a letter')
    }
    const known = Object.keys(permissions)
    const unknown = names(allowed, 'permissions').find((one) => !known.includes(one))
    if (unknown !== undefined) {
      throw refused('permissions', `has "${unknown}"${didYouMean(unknown, known)}; there are ${known.join(', ')}`)
    }
    await told(this.#store.setRole(name, allowed, checkedActor(who)))
  }

  /** Deletes a role of your own. One that a live key has is refused. */
  async dropRole(name: string, who: Actor): Promise<void> {
    if (!(await told(this.#store.dropRole(storableText(name, 'name'), checkedActor(who)))))
      throw new HoldfastError('not_found', `there is no role "${name}"`)
  }

  /** The caller that a key identifies; undefined if there is no such live key. */
  async caller(key: string): Promise<Caller | undefined> {
    const hash = hashOf(key)
    const found = await told(this.#store.findKey(hash))
    // The index comparison is not constant-time, but it compares hashes, whose first bytes nobody can choose.
    if (!found || !timingSafeEqual(Buffer.from(found.hash), Buffer.from(hash))) return undefined
    return callerOf(found)
  }

  /** Notes that a server let in so many requests of a service; answers with how many are left of its rate for all servers. @internal */
  async spendRequests(service: string, rate: number, count: number): Promise<number> {
    return told(this.#store.spendRequests(service, rate, count))
  }

  /** The caller that a certificate identifies, by its subjects or by the service that the configuration names for it. */
  async callerOfCertificate({ subjects, service }: CertificateNames): Promise<Caller | undefined> {
    const found = await told(this.#store.findCertificate(subjects, service ?? null))
    return found && callerOf(found)
  }

  async #key(id: number): Promise<KeyState> {
    const [row] = await told(this.#store.keys({ id }))
    if (!row) throw unknownKey(id)
    return keyState(row)
  }
}

/** Checks the options that keys and certificates share. */
function checked(fields: KeyFields) {
  refuseUnknown(fields, ['service', 'roles', 'types', 'rateLimit', 'expires'])
  const { service, roles, types, rateLimit = 1_000, expires } = fields
  if (typeof service !== 'string' || !/^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$/.test(service)) {
    throw refused('service', 'must have 1 to 100 letters, digits or . _ @ - and begin with a letter or digit')
  }
  if (service === 'admin' || service === 'holdfast') throw refused('service', `"${service}" is a name Holdfast uses itself`)
  if (roles?.length === 0) throw refused('roles', 'is empty; a key without a role allows nothing')
  const expiresMs = expires === undefined ? null : toMilliseconds(expires, 'expires')
  if (expiresMs === 0) throw refused('expires', 'is 0; a key has to be valid for some time')
  return {
    ...{ service, expiresMs },
    roles: names(roles, 'roles'),
    types: types === undefined ? null : names(types, 'types'),
    rateLimit: wholeNumber(rateLimit, 'rateLimit', 1, 1_000_000),
  }
}

function keyState(row: KeyRow): KeyState {
  const { id, service, prefix, subject, roles, types, rate, live, by } = row
  const moment = (ms: number | null) => (ms === null ? null : new Date(ms))
  return {
    ...{ id, service, prefix, subject, roles, types, rateLimit: rate, live, createdBy: by },
    createdAt: new Date(row.created),
    expiresAt: moment(row.expires),
    revokedAt: moment(row.revoked),
    lastUsedAt: moment(row.used),
  }
}

function keyId(id: number): number {
  return wholeNumber(id, 'id', 1, 2 ** 31 - 1)
}

function names(list: readonly string[], field: string): readonly string[] {
  const fits = (name: unknown) => typeof name === 'string' && name.length >= 1 && name.length <= 200 && !unstorable.test(name)
  if (Array.isArray(list) && list.length <= 1_000 && list.every(fits)) return list
  throw refused(field, 'must be a list of names, of 1 to 200 characters each, without NUL')
}

function unknownKey(id: number): HoldfastError {
  return new HoldfastError('not_found', `there is no live key ${id}`)
}
