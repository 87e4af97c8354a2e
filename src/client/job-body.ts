import type { JobBody } from '../api/jobs.js'
import type { ApprovalOption } from '../job/approval.js'
import { checkAgainstSchema } from '../job/check-payload.js'
import { encodePayload } from '../job/payload.js'
import { refused, refuseUnknown } from '../job/refused.js'
import type { JobRequest } from '../job/type.js'
import type { UniqueOption } from '../job/unique.js'

/** What the library calls an option, and what it is called over HTTP. */
const names: Record<string, string> = {
  id: 'id',
  version: 'version',
  priority: 'priority',
  maxAttempts: 'max_attempts',
  delay: 'delay',
  runAt: 'run_at',
  startBy: 'start_by',
  expireIn: 'expire_in',
  idempotencyKey: 'idempotency_key',
  concurrencyKey: 'concurrency_key',
  approval: 'approval',
  unique: 'unique',
  traceparent: 'traceparent',
  tags: 'tags',
  webhook: 'webhook',
}

/**
 * A request of the library as the API takes it. What the server cannot know is checked here: that the payload survives JSON
 * exactly, and that it fits the schema of its definition. What the definition says beyond that, the server has from the workers.
 */
export async function jobBody({ type, payload, ...options }: JobRequest): Promise<JobBody> {
  refuseUnknown(options, Object.keys(names))
  encodePayload(payload)
  if (typeof type !== 'string') await checkAgainstSchema(type, payload, options.version)
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const renamed = given.map(([name, value]) => [names[name] as string, overHttp(name, value)])
  const named = typeof type === 'string' ? { type } : { type: type.type, version: type.version }
  return { ...named, payload, ...Object.fromEntries(renamed) }
}

function overHttp(name: string, value: unknown): unknown {
  if (name === 'runAt' || name === 'startBy') {
    if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
    throw refused(name, 'must be a valid Date')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { onConflict, maxWait, onDeadline, ...rest } = value as UniqueOption & Exclude<ApprovalOption, true>
  return {
    ...rest,
    ...(onConflict === undefined ? {} : { on_conflict: onConflict }),
    ...(maxWait === undefined ? {} : { max_wait: maxWait }),
    ...(onDeadline === undefined ? {} : { on_deadline: onDeadline }),
  }
}
