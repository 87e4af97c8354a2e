import { type ApprovalOption, encodeApproval } from '../job/approval.js'
import type { Duration } from '../job/duration.js'
import { storableSchema } from '../job/json-schema.js'
import { refused, refuseUnknown, refuseUnknownNames } from '../job/refused.js'
import { defineType } from '../job/type.js'
import type { TypeDefinition } from '../job/type-definition.js'
import type { UniqueOption } from '../job/unique.js'
import type { StoredType } from '../store/rows.js'
import { type Override, overrides, type ToldOverride } from './overrides.js'

// biome-ignore lint/suspicious/noExplicitAny: no payload is checked here
type Definition = TypeDefinition<any>
type Checked =
  | 'lane'
  | 'priority'
  | 'maxAttempts'
  | 'timeout'
  | 'sensitive'
  | 'alertExpired'
  | 'sharedKeys'
  | 'encrypt'
  | 'redact'
  | 'searchable'

/**
 * What can be stored about a type without its worker, with the names and ranges of a definition. What is left out has its default in a new
 * type, and stays as it is in a known one; null takes it away.
 */
export interface TypeSettings extends Pick<Definition, Checked | 'keepResult' | 'maxResultBytes'> {
  /** No function: only its own worker could call it. */
  backoff?: Partial<{ base: Duration; factor: number; cap: Duration; jitter: Duration }> | null
  /** What every job of the type needs before it may run. */
  approval?: ApprovalOption | null
  /** Which jobs of the type are one and the same, wherever an enqueue does not say otherwise. */
  unique?: UniqueOption | null
  /** The JSON Schema of its payloads, for those that come by the name of the type; at most 65,536 bytes. */
  payloadSchema?: object | null
  /** The name of a registered type, of which a job is enqueued for each that died. */
  onDead?: string | null
}

/** Everything that is stored about a type. Times are in milliseconds. */
export interface TypeState {
  type: string
  lane: string
  priority: number
  maxAttempts: number
  timeoutMs: number
  /** Null: the default, or a function that only its worker has. */
  backoff: object | null
  approval: object | null
  unique: object | null
  sensitive: boolean
  encrypt: boolean
  redact: string[]
  /** Paths of the payload whose values are found by index. */
  searchable: string[]
  /** The JSON Schema of its payloads; null: none is stored. */
  payloadSchema: object | null
  sharedKeys: boolean
  /** 0: no result is kept. */
  maxResultBytes: number
  alertExpired: boolean
  onDead: string | null
  /** The newest version of its payloads that any worker ever knew. */
  version: number
  /** What operators said of it, beside what its definition says. */
  overrides: Override[]
  registeredAt: Date
}

/** How a setting is stored: under which name, and as what. */
type Made = ReturnType<typeof defineType>
const stored: Record<keyof TypeSettings, (made: Made, given: TypeSettings) => Partial<StoredType>> = {
  lane: ({ lane }) => ({ lane }),
  priority: ({ priority }) => ({ priority }),
  maxAttempts: ({ maxAttempts }) => ({ max_attempts: maxAttempts }),
  timeout: ({ timeoutMs }) => ({ timeout_ms: timeoutMs }),
  backoff: ({ backoff }, given) => ({ backoff: given.backoff === null ? null : (backoff as object) }),
  approval: ({ approval }) => ({ approval: JSON.parse(encodeApproval(approval) ?? 'null') }),
  unique: ({ unique }) => ({ uniqueness: unique ?? null }),
  sensitive: ({ sensitive }) => ({ sensitive }),
  alertExpired: ({ alertExpired }) => ({ alert_expired: alertExpired }),
  sharedKeys: ({ sharedKeys }) => ({ shared_keys: sharedKeys }),
  encrypt: ({ encrypt }) => ({ encrypted: encrypt }),
  redact: ({ redact }) => ({ redact: redact.length === 0 ? null : [...redact] }),
  searchable: ({ searchable }) => ({ searchable: searchable.length === 0 ? null : [...searchable] }),
  payloadSchema: (_, { payloadSchema }) => ({ payload_schema: storableSchema(payloadSchema, 'payloadSchema') }),
  keepResult: ({ maxResultBytes }) => ({ max_result_bytes: maxResultBytes }),
  maxResultBytes: ({ maxResultBytes }) => ({ max_result_bytes: maxResultBytes }),
  onDead: ({ onDead }) => ({ on_dead: onDead ?? null }),
}

/** The columns whose names differ. */
const columns: Partial<Record<keyof TypeSettings, string>> = {
  maxAttempts: 'max_attempts',
  timeout: 'timeout_ms',
  unique: 'uniqueness',
  alertExpired: 'alert_expired',
  sharedKeys: 'shared_keys',
  encrypt: 'encrypted',
  payloadSchema: 'payload_schema',
  keepResult: 'max_result_bytes',
  maxResultBytes: 'max_result_bytes',
  onDead: 'on_dead',
}

/** Checks settings as a definition is checked, and brings those that are named into the form the database takes. */
export function encodeSettings(type: string, settings: TypeSettings): Partial<StoredType> {
  refuseUnknown(settings, Object.keys(stored))
  if (typeof settings.backoff === 'function') throw refused('backoff', 'is a function, which only a worker can call')
  const { onDead, payloadSchema: _, ...rest } = settings
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined))
  const made = defineType({ type, ...given, ...(onDead == null ? {} : { onDead: { enqueue: onDead } }) })
  const named = (Object.keys(stored) as (keyof TypeSettings)[]).filter((name) => settings[name] !== undefined)
  return Object.assign({}, ...named.map((name) => stored[name](made, settings)))
}

/** How these settings are stored; null: all. */
export function storedSettings(names: readonly (keyof TypeSettings)[] | undefined): string[] | null {
  refuseUnknownNames(names, Object.keys(stored))
  return names?.map((one) => columns[one] ?? one) ?? null
}

export interface ToldType {
  settings: StoredType
  registered: number
  overrides: ToldOverride[]
}

export function typeState(type: string, { settings, registered, overrides: said }: ToldType): TypeState {
  const { lane, priority, backoff, approval, sensitive, version } = settings
  return {
    ...{ type, lane, priority, backoff, approval, sensitive, version },
    maxAttempts: settings.max_attempts,
    timeoutMs: settings.timeout_ms,
    unique: settings.uniqueness,
    encrypt: settings.encrypted,
    redact: settings.redact ?? [],
    searchable: settings.searchable ?? [],
    payloadSchema: settings.payload_schema,
    sharedKeys: settings.shared_keys,
    maxResultBytes: settings.max_result_bytes,
    alertExpired: settings.alert_expired,
    onDead: settings.on_dead,
    overrides: overrides(said),
    registeredAt: new Date(registered),
  }
}
