import { hostname } from 'node:os'
import { HoldfastError } from '../errors.js'
import { jsonSchemaOf } from '../job/json-schema.js'
import { misconfigured } from '../job/refused.js'
import { defaultBackoff } from '../job/retry.js'
import type { AnyJobType } from '../job/type.js'
import { version } from '../version.js'
import type { WorkerCalls } from './calls.js'

/** What the server takes of a definition, by the names of the protocol. */
function definitionOf(type: AnyJobType): object {
  const schema = jsonSchemaOf(type.schema)
  const { timeoutMs: timeout, maxAttempts, backoff, maxResultBytes, uses } = type
  return {
    ...{ type: type.type, lane: type.lane, priority: type.priority, sensitive: type.sensitive },
    ...{ timeout, max_attempts: maxAttempts, max_result_bytes: maxResultBytes, uses },
    ...(schema !== undefined && { payload_schema: JSON.parse(schema) }),
    // A function stays here: this worker says after each failure how long to wait.
    backoff: typeof backoff === 'function' ? defaultBackoff : backoff,
  }
}

/** What of a definition only a program with the database can register. */
const notOverHttp = {
  limits: ({ limits }: AnyJobType) => limits !== undefined,
  'limits of what it uses': ({ dependencies }: AnyJobType) => dependencies.length > 0,
  approval: ({ approval }: AnyJobType) => approval !== undefined,
  unique: ({ unique }: AnyJobType) => unique !== undefined,
  encrypt: ({ encrypt }: AnyJobType) => encrypt,
  redact: ({ redact }: AnyJobType) => redact.length > 0,
  searchable: ({ searchable }: AnyJobType) => searchable.length > 0,
  webhook: ({ webhook }: AnyJobType) => webhook !== undefined,
  'onDead.enqueue': ({ onDead }: AnyJobType) => onDead !== undefined,
  alertExpired: ({ alertExpired }: AnyJobType) => alertExpired,
  sharedKeys: ({ sharedKeys }: AnyJobType) => sharedKeys,
}

/**
 * Registers a worker for these types by their names, and those that the server does not know by their definitions. A type that is known stays as
 * it is: a worker that runs jobs of it need not be allowed to change it, but where its payloads have a newer version here than any worker knew before.
 */
export async function registerRemotely(
  calls: WorkerCalls,
  name: string,
  build: string | null,
  handlers: ReadonlyMap<string, AnyJobType>,
): Promise<number> {
  const types: (string | object)[] = [...handlers.keys()]
  const payload_versions = Object.fromEntries([...handlers].map(([type, handler]) => [type, handler.version]))
  const about = { name, host: hostname(), pid: process.pid, version, payload_versions, ...(build !== null && { build }) }
  for (;;) {
    try {
      return await calls.register({ ...about, types })
    } catch (error) {
      const at = unknownIn(error)
      const unknown = at === undefined ? undefined : types[at]
      if (at === undefined || typeof unknown !== 'string') throw error
      types[at] = definitionOf(definable(handlers.get(unknown) as AnyJobType))
    }
  }
}

function unknownIn(error: unknown): number | undefined {
  if (!(error instanceof HoldfastError) || error.code !== 'unknown_type') return undefined
  const [, at] = /^types\[(\d+)\]$/.exec(error.field ?? '') ?? []
  return at === undefined ? undefined : Number(at)
}

function definable(type: AnyJobType): AnyJobType {
  const fields = Object.entries(notOverHttp).flatMap(([field, has]) => (has(type) ? [field] : []))
  if (fields.length === 0) return type
  const problem = `${type.type} is not registered yet, and its ${fields.join(', ')} cannot be registered over HTTP; register it once where the database is: holdfast.registerTypes([${type.type}])`
  throw misconfigured('types', problem)
}
