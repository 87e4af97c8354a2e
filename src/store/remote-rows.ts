export interface RemoteWorkerRow {
  /** SHA-256 of its secret, in hexadecimal. */
  hash: string
  build: string | null
  drain: boolean
  why: string | null
  /** `version`: the newest payload of it that the worker knows; null: any. */
  types: { id: number; name: string; timeoutMs: number; encrypted: boolean; version: number | null }[]
}

/** An attempt that holds its lease, and what decides about its end. */
export interface HeldAttemptRow {
  id: string
  lease: string
  attempt: number
  max: number
  /** Null: the default. */
  backoff: { base: number; factor: number; cap: number; jitter: number } | null
  type: string
  encrypted: boolean
  redact: string[] | null
  /** Most bytes of a result that are kept. */
  bytes: number
  /** Null where nothing of it is redacted. */
  payload: string | null
  /** Milliseconds since it was claimed. */
  age: number
}

/** What a remote worker names of a type, in the words of the database. */
export interface NamedType {
  type: string
  /** Where it stands in the list that was sent. */
  index: number
  lane?: string
  priority?: number
  max_attempts?: number
  timeout_ms?: number
  sensitive?: boolean
  max_result_bytes?: number
  payload_schema?: object
  backoff?: object
  /** In order, each once. */
  uses?: readonly string[]
  /** The newest version of payloads that its worker knows. */
  version?: number
}
