import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { HoldfastError } from '../errors.js'
import { Checker } from '../job/checker.js'
import { maxPayloadBytes } from '../job/payload.js'

/** The keys that encrypt payloads, checkpoints and results before they are stored. */
export interface EncryptionOptions {
  /** 256 bits in base64 each, by a name that is stored with each ciphertext. Keep old keys until no payload needs them. */
  keys: Record<string, string>
  /** The key that encrypts from here on. */
  current: string
  /**
   * Encrypts the payloads of every type, and not only of those that are defined with `encrypt: true`.
   * @default false
   */
  all?: boolean
  /**
   * Refuses plain payloads of encrypted types. Set it after `reencrypt` has left none.
   * @default false
   */
  strict?: boolean
}

/** What is stored for an encrypted payload. All in base64 but the name of the key. */
interface Envelope {
  $enc: { k: string; iv: string; ct: string; tag: string }
}

/** What an encrypted text is. It is bound to that and to its job or address: anywhere else it cannot be decrypted. */
export type EncryptedText = 'payload' | 'checkpoint' | 'result' | 'step' | 'signal' | 'secret'

export class UnreadableError extends Error {
  override readonly name = 'UnreadableError'
  /** The name of the missing key; undefined if the key is there and does not fit. */
  readonly missing: string | undefined

  constructor(message: string, missing?: string) {
    super(message)
    this.missing = missing
  }
}

const keyBytes = 32
const ivBytes = 12
const tagBytes = 16
const beginning = '{"$enc"'

/** Whether a stored text is encrypted. No plain payload begins like that, because enqueue refuses such payloads. */
export function isEncrypted(text: string): boolean {
  return text.startsWith(beginning)
}

/** The name of the key a text was encrypted with, which is not secret. */
export function keyOf(text: string): string {
  return envelopeIn(text)?.k ?? 'unknown'
}

/** The keys of this process. It encrypts before it sends: the database never has a key or a plain text. */
export class Keyring {
  readonly current: string
  readonly #keys: ReadonlyMap<string, Buffer>

  constructor(options: EncryptionOptions) {
    const { keys, current } = options
    const check = new Checker()
    check.known(options, ['keys', 'current', 'all', 'strict'], ['encryption'])
    const read = Object.entries(keys ?? {}).map(([id, key]): [string, Buffer] => {
      const bytes = typeof key === 'string' && /^[A-Za-z0-9+/_-]*={0,2}$/.test(key) ? Buffer.from(key, 'base64') : undefined
      const named = /^[\w.-]{1,64}$/.test(id)
      if (!named) check.wrong(['encryption', 'keys', id], 'has a name with other than letters, digits, _ - .')
      // Never the key itself: this message ends up in a log.
      else if (bytes?.length !== keyBytes) {
        check.wrong(['encryption', 'keys', id], `must be ${keyBytes} bytes in base64 (openssl rand -base64 32)`)
      }
      return [id, bytes ?? Buffer.alloc(0)]
    })
    this.#keys = new Map(read)
    this.current = current
    if (!this.#keys.has(current)) {
      check.wrong(
        'encryption.current',
        `is "${current}", and there is no such key; there are ${[...this.#keys.keys()].join(', ')}`,
      )
    }
    check.done('invalid_configuration', 'the encryption cannot be used')
  }

  encrypt(job: string, text: string, what: EncryptedText = 'payload'): string {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.current) as Buffer, iv, { authTagLength: tagBytes })
    cipher.setAAD(bound(job, what))
    const ct = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    const [iv64, ct64, tag64] = [iv, ct, cipher.getAuthTag()].map((bytes) => bytes.toString('base64'))
    const envelope = `${beginning}:{"k":"${this.current}","iv":"${iv64}","ct":"${ct64}","tag":"${tag64}"}}`
    // A result was measured by the limit of its type, which may be larger.
    if (envelope.length > maxPayloadBytes && what !== 'result') {
      const sentence = `${what} is ${Buffer.byteLength(text)} bytes; encrypted, at most 48 KB fit: store the data elsewhere and pass a reference`
      throw new HoldfastError('payload_too_large', sentence, { field: what })
    }
    return envelope
  }

  /** Throws an UnreadableError that names the key and nothing of the content. */
  decrypt(job: string, text: string, what: EncryptedText = 'payload'): string {
    const envelope = envelopeIn(text)
    if (!envelope) throw new UnreadableError(`the ${what} is encrypted in a form that is not known here`)
    const key = this.#keys.get(envelope.k)
    if (!key) throw missing(envelope.k, what)
    try {
      const iv = Buffer.from(envelope.iv, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes })
      decipher.setAAD(bound(job, what))
      decipher.setAuthTag(Buffer.from(envelope.tag, 'base64'))
      return Buffer.concat([decipher.update(envelope.ct, 'base64'), decipher.final()]).toString('utf8')
    } catch {
      const owner = what === 'secret' ? 'target' : 'job'
      const problem = `it was changed, was encrypted for another ${owner}, or this process has another key under that name`
      throw new UnreadableError(`the ${what} cannot be decrypted with the key "${envelope.k}": ${problem}`)
    }
  }
}

export function inPlain(type: string, what: EncryptedText): UnreadableError {
  const why =
    'encryption.strict trusts only what was encrypted. One from before is encrypted by holdfast reencrypt without strict'
  return new UnreadableError(`the ${what} is stored in plain, and those of ${type} are encrypted; ${why}`)
}

export function missing(key: string, what: EncryptedText): UnreadableError {
  return new UnreadableError(`the ${what} is encrypted with the key "${key}", which this process does not have`, key)
}

function bound(job: string, what: EncryptedText): Buffer {
  return Buffer.from(`holdfast ${what} ${job.toLowerCase()}`)
}

function envelopeIn(text: string): Envelope['$enc'] | undefined {
  try {
    const { $enc: parts } = JSON.parse(text) as Envelope
    return [parts.k, parts.iv, parts.ct, parts.tag].every((part) => typeof part === 'string') ? parts : undefined
  } catch {
    return undefined
  }
}
