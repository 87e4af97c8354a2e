import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { storableText } from '../job/text.js'
import { timeAsked } from '../job/time-asked.js'
import type { AccessStore } from '../store/access-store.js'
import { explained } from '../store/sqlstate.js'

/** One action of a person or service, written in the transaction of the action, and never changed. */
export interface AuditLine {
  id: string
  at: Date
  actor: string
  /** The address of the client; null: through the library or SQL. */
  origin: string | null
  action: string
  /** What it was done to: a job, a type, a lane, a key. */
  target: string | null
  /** The fields that changed, before and after. */
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
  why: string | null
}

/** Which lines of the audit log are asked for: those that fit every field that is given. */
export interface AuditQuestion {
  actor?: string
  action?: string
  target?: string
  /** Written at this time or later. */
  from?: Date
  /** Written before this time. */
  to?: Date
  /** Lines before the one of that id. */
  before?: string
  /**
   * 1 to 1,000.
   * @default 100
   */
  limit?: number
}

/** What operators did, the latest first. */
export async function readAudit(store: AccessStore, question: AuditQuestion = {}): Promise<AuditLine[]> {
  refuseUnknown(question, ['actor', 'action', 'target', 'from', 'to', 'before', 'limit'])
  const { actor = null, action = null, target = null, before = null, limit = 100 } = question
  if (before !== null && !/^\d{1,18}$/.test(before)) {
    throw refused('before', 'must be the id of a line of the audit log')
  }
  for (const [field, text] of Object.entries({ actor, action, target })) if (text !== null) storableText(text, field)
  const times = { from: timeAsked(question.from, 'from'), to: timeAsked(question.to, 'to') }
  const most = wholeNumber(limit, 'limit', 1, 1_000)
  try {
    const rows = await store.audit({ actor, action, target, ...times }, before, most)
    return rows.map((row) => ({ ...row, at: new Date(row.at) }))
  } catch (error) {
    throw explained(error)
  }
}
