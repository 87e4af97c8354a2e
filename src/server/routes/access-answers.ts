import type { Role } from '../../access/access.js'
import type { AuditAnswer, AuditQuery, RoleAnswer } from '../../api/admin.js'
import type { Holdfast } from '../../holdfast.js'

/** One page of the audit log in the words of the API. */
export async function auditPage(holdfast: Holdfast, query: AuditQuery): Promise<AuditAnswer> {
  const { cursor, limit = 100, from, to, ...question } = query
  const lines = await holdfast.audit({
    ...{ ...question, limit },
    ...(from !== undefined && { from: new Date(from) }),
    ...(to !== undefined && { to: new Date(to) }),
    ...(cursor !== undefined && { before: cursor }),
  })
  const next = lines.length === limit ? (lines.at(-1)?.id ?? null) : null
  return { lines: lines.map((line) => ({ ...line, at: line.at.toISOString() })), next }
}

export function roleAnswer({ builtIn, ...role }: Role): RoleAnswer {
  return { ...role, built_in: builtIn }
}
