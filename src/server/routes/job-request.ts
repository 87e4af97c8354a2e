import type { JobBody } from '../../api/jobs.js'
import type { JobRequest } from '../../job/type.js'
import { isTraceparent } from '../../tracing/traceparent.js'
import { camelCase } from '../spelling.js'

/** A checked body as the library takes it. An invalid header `traceparent` is ignored, as its recommendation asks. */
export function jobRequest({ run_at, start_by, approval, unique, ...body }: JobBody, header?: string | string[]): JobRequest {
  return {
    ...(typeof header === 'string' && isTraceparent(header) ? { traceparent: header } : {}),
    ...(theirs(body) as unknown as JobRequest),
    ...(run_at === undefined ? {} : { runAt: new Date(run_at) }),
    ...(start_by === undefined ? {} : { startBy: new Date(start_by) }),
    ...(approval === undefined ? {} : { approval: theirs(approval) as never }),
    ...(unique === undefined ? {} : { unique: theirs(unique) as never }),
  }
}

/** With the library's names; what is inside of a payload is nobody's business here. */
export function theirs(fields: object | boolean): unknown {
  if (typeof fields === 'boolean') return fields
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [camelCase(name), value]))
}

/** Which fields are given back to the code, with the library's names. */
export function released<Field extends string>(fields: readonly string[] | undefined): { fields?: Field[] } {
  return fields === undefined ? {} : { fields: fields.map((name) => camelCase(name) as Field) }
}
