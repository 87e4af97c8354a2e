import { monotonicMs } from '../clock.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { refused } from '../job/refused.js'
import type { JobRequest } from '../job/type.js'
import type { Uniqueness } from '../job/unique.js'
import type { MemberStore } from '../store/member-store.js'
import { told } from '../store/sqlstate.js'
import { asQueryable, type CallerTransaction } from '../store/transaction.js'
import { checkName, type Roster } from './roster.js'
import { memberOf, routingKey } from './route.js'

/** What says in which member a job is stored. */
export interface RouteOptions {
  /**
   * What the job is routed by: jobs with one key are in one member, for as long as the members are the same.
   * @range a text that is not empty
   * @default the idempotency key, the unique key or the concurrency key of the job, if it has one
   */
  key?: string | undefined
  /**
   * The member itself.
   * @default none: `key` says
   */
  member?: string | undefined
  /**
   * The caller's own transaction, in the database of a member; which one that is, is read there.
   * @default none
   */
  tx?: CallerTransaction | undefined
}

/** A type whose uniqueness is changed meanwhile may have its keys in a member where nobody looks for them, for this long. */
const uniquenessStaleMs = 60_000

/** Finds the member that jobs are stored in. */
export class MemberRouter {
  readonly #members: ReadonlyMap<string, Holdfast>
  readonly #stores: ReadonlyMap<string, MemberStore>
  readonly #roster: Roster
  /** Which member a transaction, or the connection it is on, belongs to. */
  readonly #transactions = new WeakMap<object, string>()
  /** What the database says of types that are given by name, until that is too old. */
  readonly #uniqueness = new Map<string, Uniqueness | null>()
  #uniquenessReadAt = Number.NEGATIVE_INFINITY

  constructor(members: ReadonlyMap<string, Holdfast>, stores: ReadonlyMap<string, MemberStore>, roster: Roster) {
    this.#members = members
    this.#stores = stores
    this.#roster = roster
  }

  async route(requests: readonly JobRequest[], { key, member, tx }: RouteOptions): Promise<string> {
    if (member !== undefined && !this.#members.has(member)) {
      throw refused('member', `is "${member}"; there are ${[...this.#members.keys()].join(', ')}`)
    }
    if (key !== undefined && (typeof key !== 'string' || key === '')) throw refused('key', 'must be a text that is not empty')
    if (key !== undefined && (member ?? tx) !== undefined) {
      throw refused('key', `and ${member === undefined ? 'tx' : 'member'} exclude each other; both say where the job goes`)
    }
    if (tx !== undefined) return this.#memberOfTransaction(tx, member)
    if (member !== undefined) return member
    const routing = routingKey(requests, key, await this.#uniquenessOf(requests))
    // A job that is sent again must come to the same member, whether that answers or not.
    return memberOf(routing.key, await this.#roster.routed({ able: !routing.brought })) as string
  }

  /** The database of the transaction says who it is; a wrong name would give the job an id under which nobody finds it. */
  async #memberOfTransaction(tx: CallerTransaction, named: string | undefined): Promise<string> {
    const known = this.#transactions.get(tx as object)
    const found = known ?? (await this.#readMember(tx, named))
    this.#transactions.set(tx as object, found)
    if (named !== undefined) checkName(found, named)
    return found
  }

  async #readMember(tx: CallerTransaction, named: string | undefined): Promise<string> {
    const schemas = new Set([...this.#members.values()].map((one) => insideOf(one).store.database.schema))
    if (named === undefined && schemas.size > 1) {
      throw refused('member', 'is missing: the members have schemas of different names, so that it cannot be read from tx')
    }
    const store = named === undefined ? [...this.#stores.values()][0] : this.#stores.get(named)
    const row = await (store as MemberStore).read(asQueryable(tx))
    if (row && this.#members.has(row.name)) return row.name
    const says = row ? `says that it is the member ${row.name}` : 'has no name as a member; holdfast migrate gives it one'
    throw refused('tx', `is in a database that ${says}; there are ${[...this.#members.keys()].join(', ')}`)
  }

  /** How the database makes the jobs of types unique that are given by their names alone. */
  async #uniquenessOf(requests: readonly JobRequest[]): Promise<(type: string) => Uniqueness | null | undefined> {
    const unsaid = requests.filter(({ type, unique }) => typeof type === 'string' && unique === undefined)
    const names = [...new Set(unsaid.map(({ type }) => type as string))]
    if (monotonicMs() - this.#uniquenessReadAt > uniquenessStaleMs) {
      this.#uniqueness.clear()
      this.#uniquenessReadAt = monotonicMs()
    }
    const unread = names.filter((name) => !this.#uniqueness.has(name))
    if (unread.length > 0) {
      const able = await this.#roster.routed({ able: true })
      const rows = await told(insideOf(this.#members.get(able[0] as string) as Holdfast).store.types(unread))
      for (const { name, uniqueness } of rows) this.#uniqueness.set(name, uniqueness)
    }
    return (type) => this.#uniqueness.get(type)
  }
}
