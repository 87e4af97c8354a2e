import { HoldfastError } from '../errors.js'
import { Checker } from '../job/checker.js'
import { describeFailure, type Failure } from '../job/failure.js'
import { type LogEntry, logLine, progress } from '../job/log-entry.js'
import type { Outcome } from '../job/outcome.js'
import { isOwnType } from '../job/own-types.js'
import { decodePayload } from '../job/payload.js'
import { type RedactPath, readRedactPaths, redacted, redactedMark, touches } from '../job/redaction.js'
import { refused } from '../job/refused.js'
import { Secrets } from '../job/secrets.js'
import {
  type EncryptedText,
  type EncryptionOptions,
  inPlain,
  isEncrypted,
  Keyring,
  keyOf,
  missing,
  UnreadableError,
} from './keyring.js'

/** What the database and people do not see of payloads. */
export interface PrivacyOptions {
  /**
   * Keys for encrypted payloads.
   * @default HOLDFAST_ENCRYPTION_KEYS of the environment, or none
   */
  encryption?: EncryptionOptions
  /**
   * Paths in the payloads of every type that people do not see, besides those of each type.
   * @default HOLDFAST_REDACT of the environment, or none
   */
  redact?: readonly string[]
}

/** What decides how payloads of a type are stored. */
interface TypeFacts {
  type: string
  encrypted: boolean | undefined
}

/** Keeps payloads from the database, by encrypting them, and parts of them from people, by redacting paths. */
export class Privacy {
  readonly keyring: Keyring | undefined
  readonly #all: boolean
  readonly #strict: boolean
  readonly #everywhere: readonly RedactPath[]

  constructor({ encryption, redact }: PrivacyOptions = {}) {
    const check = new Checker()
    this.keyring = check.read(() => encryption && new Keyring(encryption), undefined)
    this.#all = encryption?.all === true
    this.#strict = encryption?.strict === true
    this.#everywhere = check.read(() => readRedactPaths(redact, 'redact'), [])
    check.done('invalid_configuration', 'payloads cannot be kept private')
  }

  /** Whether paths hold for every type. */
  get redactsAll(): boolean {
    return this.#everywhere.length > 0
  }

  /** Whether payloads of a type are stored encrypted. */
  encrypts(encrypted: boolean | undefined): boolean {
    return this.#all || encrypted === true
  }

  encrypt(type: string, job: string, text: string, what: EncryptedText = 'payload'): string {
    if (this.keyring) return this.keyring.encrypt(job, text, what)
    const problem = `the ${what} of ${type} is stored encrypted, and this process has no keys: give the option encryption, or set HOLDFAST_ENCRYPTION_KEYS`
    throw new HoldfastError('encryption_keys_missing', problem, { field: 'encryption' })
  }

  /** The secret of an alert target as it is stored: encrypted if there are keys. */
  encryptSecret(url: string, secret: string): string {
    return this.keyring ? this.keyring.encrypt(url, secret, 'secret') : secret
  }

  /** Whether stored payloads have to be decrypted or checked before a handler gets them. */
  concerns(text: string, redact: readonly string[]): boolean {
    return redact.length > 0 || this.redactsAll || this.#strict || isEncrypted(text)
  }

  /** Whether plain payloads of this type are refused. */
  #trustsOnlyEncrypted({ type, encrypted }: TypeFacts): boolean {
    // The database itself enqueues jobs of its own types, and it has no keys.
    return this.#strict && this.encrypts(encrypted) && !isOwnType(type)
  }

  /** Decrypts a stored text. Throws an UnreadableError, with `type` also for a plain text that has to be encrypted. */
  decrypt(job: string, text: string, what: EncryptedText = 'payload', of?: TypeFacts): string {
    if (!isEncrypted(text)) {
      if (of && this.#trustsOnlyEncrypted(of)) throw inPlain(of.type, what)
      return text
    }
    if (this.keyring) return this.keyring.decrypt(job, text, what)
    throw missing(keyOf(text), what)
  }

  /** A stored payload as people see it: redacted; of an encrypted one only the name of its key. */
  shown(text: string, job: TypeFacts & { redact: readonly string[] | null }): unknown {
    if (isEncrypted(text)) return { $encrypted: keyOf(text) }
    if (this.#trustsOnlyEncrypted(job)) return { $refused: 'stored in plain' }
    return redacted(decodePayload(text), this.#paths(job.redact))
  }

  /** A stored result as people see it: redacted by the paths of the payload, and without the payload's secrets anywhere in it. */
  shownResult(text: string, job: TypeFacts & { payload: string; redact: readonly string[] | null }): unknown {
    const shown = this.shown(text, job)
    if (isEncrypted(text) || isEncrypted(job.payload)) return shown
    const secrets = this.secrets(job.payload, job.redact)
    return secrets ? scrubbed(shown, secrets) : shown
  }

  /** The values that must not be in errors and logs of a job with this payload; undefined if there are none. */
  secrets(text: string, own: readonly string[] | null): Secrets | undefined {
    if ((own ?? []).length === 0 && !this.redactsAll) return undefined
    const found = new Secrets(decodePayload(text), this.#paths(own))
    return found.none ? undefined : found
  }

  /** Refuses a search in redacted or encrypted payloads, whose answer would reveal them. */
  refuseToSearch(part: unknown, types: readonly { name: string; encrypted: boolean; redact: string[] | null }[]): void {
    const refuse = (problem: string) => refused('payload', `${problem}`)
    const [only] = types
    if (this.#all) throw refuse('cannot be searched: it is stored encrypted')
    if (types.length === 1 && only?.encrypted) throw refuse(`of ${only.name} cannot be searched: it is stored encrypted`)
    const asked = types.find(({ redact }) => touches(part, this.#paths(redact)))
    if (asked) throw refuse(`names a field that is redacted in ${asked.name} and cannot be searched`)
  }

  /** The types whose payloads people are shown whole, so that a search for a text in them reveals nothing. */
  shownWhole(types: readonly { name: string; encrypted: boolean; redact: string[] | null }[]): string[] {
    if (this.redactsAll) return []
    return types.filter((type) => !this.encrypts(type.encrypted) && (type.redact ?? []).length === 0).map(({ name }) => name)
  }

  /** Refuses a payload that was copied from a redacted one: it would be stored with the mark instead of the value. */
  refuseMarks(payload: unknown, own: readonly string[] | null): void {
    if (!touches(payload, this.#paths(own), (at) => at === redactedMark)) return
    const problem = `payload has ${redactedMark} in place of a redacted value; give the value itself`
    throw new HoldfastError('invalid_payload', problem, { field: 'payload' })
  }

  #paths(own: readonly string[] | null): RedactPath[] {
    return [...this.#everywhere, ...readRedactPaths(own ?? [], 'redact')]
  }
}

/** Encrypts what an attempt returned, if its payload is encrypted. If that fails, the attempt has failed. */
export function withResultEncrypted(privacy: Privacy, outcome: Outcome, job: { id: string } & TypeFacts): Outcome {
  if (outcome.kind !== 'completed' || outcome.result === undefined || !privacy.encrypts(job.encrypted)) return outcome
  try {
    return { ...outcome, result: privacy.encrypt(job.type, job.id, outcome.result, 'result') }
  } catch (error) {
    return { kind: 'failed', failure: describeFailure(error), fatal: false }
  }
}

/** The outcome of an attempt, without the secrets of its payload. */
export function withoutSecrets(outcome: Outcome, secrets: Secrets): Outcome {
  return 'failure' in outcome ? { ...outcome, failure: failureWithoutSecrets(outcome.failure, secrets) } : outcome
}

export function failureWithoutSecrets(failure: Failure, secrets: Secrets): Failure {
  const stack = failure.stack === undefined ? {} : { stack: secrets.scrub(failure.stack) }
  const code = failure.code === undefined ? {} : { code: secrets.scrub(failure.code) }
  return { ...failure, name: secrets.scrub(failure.name), message: secrets.scrub(failure.message), ...stack, ...code }
}

export function logEntryWithoutSecrets(entry: LogEntry, secrets: Secrets): LogEntry {
  if (entry.kind === 'line') return logLine(secrets.scrub(entry.line), entry.level)
  return entry.note === null ? entry : progress(entry.fraction, secrets.scrub(entry.note))
}

function scrubbed(value: unknown, secrets: Secrets): unknown {
  if (typeof value === 'string') return secrets.scrub(value)
  if (typeof value === 'number') return secrets.scrub(String(value)) === String(value) ? value : redactedMark
  if (Array.isArray(value)) return value.map((one) => scrubbed(one, secrets))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [secrets.scrub(name), scrubbed(inner, secrets)]))
}

export { UnreadableError }
