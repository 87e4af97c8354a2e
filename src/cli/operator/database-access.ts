import type { KeyFields } from '../../access/access.js'
import type {
  AuditAnswer,
  AuditQuery,
  CertificateBody,
  KeyAnswer,
  KeyBody,
  NewKeyAnswer,
  RoleAnswer,
  RoleBody,
} from '../../api/admin.js'
import type { EndedAnswer } from '../../api/session.js'
import type { Holdfast } from '../../holdfast.js'
import { auditPage, roleAnswer } from '../../server/routes/access-answers.js'
import { keyAnswer } from '../../server/routes/admin-answers.js'
import { theirs } from '../../server/routes/job-request.js'
import { defined } from '../defined.js'
import type { Acting, Operator } from './operator.js'

type Access = Operator['access']

/** Keys, roles and the audit log, as the HTTP client shows and changes them. */
export class DatabaseAccess implements Pick<Access, keyof Access> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async keys(service?: string): Promise<KeyAnswer[]> {
    return (await this.#holdfast.access.keys(service)).map(keyAnswer)
  }

  async createKey({ why, ...fields }: KeyBody): Promise<NewKeyAnswer> {
    const { key, ...made } = await this.#holdfast.access.createKey(theirs(fields) as KeyFields, this.#who(why))
    return { ...keyAnswer(made), key }
  }

  async trustCertificate({ why, subject, ...fields }: CertificateBody): Promise<KeyAnswer> {
    return keyAnswer(await this.#holdfast.access.trustCertificate(subject, theirs(fields) as KeyFields, this.#who(why)))
  }

  async rotateKey(id: number, { grace, why }: { grace?: string | number; why?: string } = {}): Promise<NewKeyAnswer> {
    const { key, ...made } = await this.#holdfast.access.rotateKey(id, this.#who(why), defined({ grace }))
    return { ...keyAnswer(made), key }
  }

  async revokeKey(id: number, { why }: { why?: string } = {}): Promise<KeyAnswer> {
    return keyAnswer(await this.#holdfast.access.revokeKey(id, this.#who(why)))
  }

  async endSessions(person: string, { why }: { why?: string } = {}): Promise<EndedAnswer> {
    return { person, ended: await this.#holdfast.access.sessions.endOf(person, this.#who(why)) }
  }

  async roles(): Promise<RoleAnswer[]> {
    return (await this.#holdfast.access.roles()).map(roleAnswer)
  }

  async setRole(name: string, { permissions, why }: RoleBody): Promise<RoleAnswer> {
    await this.#holdfast.access.setRole(name, permissions, this.#who(why))
    return { name, permissions, built_in: false }
  }

  async dropRole(name: string, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.access.dropRole(name, this.#who(why))
  }

  async audit(query: AuditQuery = {}): Promise<AuditAnswer> {
    return auditPage(this.#holdfast, query)
  }
}
