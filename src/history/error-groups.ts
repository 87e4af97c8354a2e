import { HoldfastError } from '../errors.js'
import { checkedFingerprint } from '../job/fingerprint.js'
import { didYouMean } from '../job/nearest.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { storableText } from '../job/text.js'
import type { ErrorGroupRow } from '../store/error-store.js'
import { told } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'

/** Failures of one type that are the same but for what differs from job to job. */
export interface ErrorGroup {
  /** 16 hexadecimal digits, the same in every process; failures of other types can have it too. */
  fingerprint: string
  type: string
  /** The name of the error; null: no example was kept. */
  name: string | null
  /** The beginning of the message of one of them, without secrets; null: that job was forgotten. */
  message: string | null
  /** The job with that message; null: it was forgotten. It may have gone since. */
  job: string | null
  firstAt: Date
  lastAt: Date
  /** How many attempts failed so since the day of `since`. */
  count: number
  /** The days of UTC on which any did, first to last. */
  days: { day: string; count: number }[]
  /** How many dead letters are in it; `more`: counting stopped there. */
  dead: { count: number; more: boolean }
}

/** Which error groups. */
export interface ErrorGroupQuestion {
  /**
   * Only this type.
   * @default all
   */
  type?: string
  /**
   * Only those with a failure at this time or later; failures are counted from the beginning of its day of UTC.
   * @default seven days ago
   */
  since?: Date
  /**
   * By what they are sorted, the most or the latest first.
   * @default last
   */
  sort?: 'count' | 'last'
  /**
   * Only those that have dead letters, of the first thousand groups.
   * @default false
   */
  dead?: boolean
  /**
   * How many at most.
   * @range 1 to 1,000
   * @default 100
   */
  limit?: number
}

const standardMs = 7 * 86_400_000
const sorts = ['count', 'last']

/** Error groups: which failures are the same, how many there were on which day, and an example of each. */
export class ErrorGroups {
  readonly #store: Store

  /** @internal */
  constructor(store: Store) {
    this.#store = store
  }

  /** The groups that had a failure lately. */
  async list(question: ErrorGroupQuestion = {}): Promise<ErrorGroup[]> {
    return told(listErrorGroups(this.#store, question))
  }

  /** One group: a row for each type that has it. None: it is not kept, or had no failure since then. */
  async get(fingerprint: string, question: Pick<ErrorGroupQuestion, 'since'> = {}): Promise<ErrorGroup[]> {
    return told(readErrorGroup(this.#store, fingerprint, question))
  }
}

/** `allowed`: the types that are looked at at all. */
export async function listErrorGroups(
  store: Store,
  question: ErrorGroupQuestion,
  allowed?: ReadonlySet<string>,
): Promise<ErrorGroup[]> {
  refuseUnknown(question, ['type', 'since', 'sort', 'dead', 'limit'])
  const { type, sort = 'last', dead = false, limit = 100 } = question
  if (typeof dead !== 'boolean') throw refused('dead', `is ${String(dead)}; it is true or false`)
  if (!sorts.includes(sort)) throw refused('sort', `is ${String(sort)}${didYouMean(String(sort), sorts)}; it is count or last`)
  const most = wholeNumber(limit, 'limit', 1, 1_000)
  const asked = { byCount: sort === 'count', limit: most, withDead: dead, fingerprint: null }
  const since = await sinceOf(store, question.since)
  const types = type === undefined ? (allowed ? [...allowed] : null) : [await knownType(store, type)]
  if (type !== undefined && allowed && !allowed.has(type)) return []
  return (await store.errors.groups({ ...asked, types, since })).map(errorGroup)
}

export async function readErrorGroup(
  store: Store,
  fingerprint: string,
  question: Pick<ErrorGroupQuestion, 'since'>,
  allowed?: ReadonlySet<string>,
): Promise<ErrorGroup[]> {
  refuseUnknown(question, ['since'])
  const asked = { fingerprint: checkedFingerprint(fingerprint, 'fingerprint'), byCount: true, limit: 1_000, withDead: false }
  const since = question.since === undefined ? new Date(0) : await sinceOf(store, question.since)
  return (await store.errors.groups({ ...asked, types: allowed ? [...allowed] : null, since })).map(errorGroup)
}

async function sinceOf(store: Store, since: unknown): Promise<Date> {
  if (since === undefined) return new Date((await store.inspect.now()).getTime() - standardMs)
  if (since instanceof Date && !Number.isNaN(since.getTime())) return since
  throw refused('since', 'must be a valid Date')
}

async function knownType(store: Store, type: string): Promise<string> {
  if ((await store.types([storableText(type, 'type')])).length > 0) return type
  const names = (await store.types(null)).map(({ name }) => name)
  throw new HoldfastError('unknown_type', `there is no type "${type}"${didYouMean(type, names)}`, { field: 'type' })
}

/** So many dead letters of a group are counted. */
const countedDead = 1_000

function errorGroup({ first_at, last_at, days, dead, ...row }: ErrorGroupRow): ErrorGroup {
  const capped = { count: Math.min(dead, countedDead), more: dead > countedDead }
  const counted = days.map(([day, count]) => ({ day, count }))
  return { ...row, firstAt: new Date(first_at), lastAt: new Date(last_at), days: counted, dead: capped }
}
