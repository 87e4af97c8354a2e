import type {
  AuditAnswer,
  AuditQuery,
  CertificateBody,
  KeyAnswer,
  KeyBody,
  NewKeyAnswer,
  RoleAnswer,
  RoleBody,
} from '../api/admin.js'
import type { EndedAnswer } from '../api/session.js'
import { queryOf } from './query.js'
import type { Send } from './sender.js'

/** Keys, roles and the audit log over HTTP, for a key with the permission `admin`. */
export class ClientAccess {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** Every key, of one service if it is named, without what is secret. */
  async keys(service?: string): Promise<KeyAnswer[]> {
    const path = `/admin/keys${queryOf({ service })}`
    return (await this.#send<{ keys: KeyAnswer[] }>('GET', path)).answer.keys
  }

  /** Makes a key. Its text is in this answer and never again, so it is sent once: a second try would make a second key. */
  async createKey(key: KeyBody): Promise<NewKeyAnswer> {
    return (await this.#send<NewKeyAnswer>('POST', '/admin/keys', key, { once: true })).answer
  }

  /** Lets the certificates of a subject stand for a service. Sent once. */
  async trustCertificate(certificate: CertificateBody): Promise<KeyAnswer> {
    return (await this.#send<KeyAnswer>('POST', '/admin/certificates', certificate, { once: true })).answer
  }

  /** Makes a second key like this one, which stays valid for `grace` (a day). Sent once. */
  async rotateKey(id: number, options: { grace?: string | number; why?: string } = {}): Promise<NewKeyAnswer> {
    return (await this.#send<NewKeyAnswer>('POST', `/admin/keys/${id}/rotate`, options, { once: true })).answer
  }

  /** Revokes a key. */
  async revokeKey(id: number, options: { why?: string } = {}): Promise<KeyAnswer> {
    return (await this.#send<KeyAnswer>('DELETE', `/admin/keys/${id}${queryOf(options)}`)).answer
  }

  /** Ends every session of a person who signed in through the provider, such as `person:ada@example.com`. */
  async endSessions(person: string, options: { why?: string } = {}): Promise<EndedAnswer> {
    return (await this.#send<EndedAnswer>('DELETE', `/admin/sessions${queryOf({ person, ...options })}`)).answer
  }

  /** Every role and what it allows. */
  async roles(): Promise<RoleAnswer[]> {
    return (await this.#send<{ roles: RoleAnswer[] }>('GET', '/admin/roles')).answer.roles
  }

  /** Makes a role of your own, or changes what it allows. */
  async setRole(name: string, role: RoleBody): Promise<RoleAnswer> {
    return (await this.#send<RoleAnswer>('PUT', roleOf(name), role)).answer
  }

  /** Removes a role that no key has. */
  async dropRole(name: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('DELETE', `${roleOf(name)}${queryOf(options)}`)
  }

  /** One page of what operators did, the latest first. `next` is the cursor of the page after it; null: this was the last. */
  async audit(query: AuditQuery = {}): Promise<AuditAnswer> {
    return (await this.#send<AuditAnswer>('GET', `/admin/audit${queryOf(query)}`)).answer
  }
}

function roleOf(name: string): string {
  return `/admin/roles/${encodeURIComponent(name)}`
}
