import { timingSafeEqual } from 'node:crypto'
import type { Access } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import { hashOf } from '../access/key.js'
import { monotonicMs } from '../clock.js'
import type { Actor } from '../job/actor.js'
import { misconfigured } from '../job/refused.js'
import type { Credential } from './credential.js'
import { Guesses } from './guesses.js'
import { TokenBucket } from './token-bucket.js'

export const shortestKey = 20
const freshForMs = 1_000
const mostRemembered = 10_000

/** A caller with what is left of its requests; the admin key has no limit. */
export interface KnownCaller {
  caller: Caller
  bucket: TokenBucket | undefined
  /** What it came in with. */
  credential: Credential
  /** When its session ends, where it has one. */
  endsAt: Date | undefined
}

interface Remembered {
  until: number
  known: Promise<KnownCaller | undefined>
}

export function checkAdminKey(key: string): void {
  if (typeof key === 'string' && key.length >= shortestKey) return
  throw misconfigured('adminKey', `must have at least ${shortestKey} characters`)
}

/**
 * Whom a key, a session or a certificate stands for. Answers are remembered for a second, so that a service that sends a thousand requests a
 * second does not ask the database as often; a key that is revoked is let in that much longer by other processes than the one it
 * was revoked in.
 */
export class Callers {
  readonly #access: Access
  readonly #adminHash: string
  readonly #remembered = new Map<string, Remembered>()
  readonly #buckets = new Map<string, TokenBucket>()
  readonly #guesses = new Guesses()
  readonly #admin: Caller = {
    key: null,
    service: 'admin',
    permissions: new Set(['admin']),
    types: undefined,
    rateLimit: Number.POSITIVE_INFINITY,
  }

  constructor(access: Access, adminKey: string) {
    this.#access = access
    this.#adminHash = hashOf(adminKey)
  }

  /** With the address it was sent from, where it may be a guess. */
  async find(credential: Credential, address?: string): Promise<KnownCaller | undefined> {
    const { kind } = credential
    const hash = hashOf(kind === 'certificate' ? JSON.stringify(credential) : credential.secret)
    // Hashes are of one length, so the comparison takes the same time however much of the key was right.
    if (kind === 'key' && timingSafeEqual(Buffer.from(hash), Buffer.from(this.#adminHash))) {
      return { caller: this.#admin, bucket: undefined, credential, endsAt: undefined }
    }
    const name = `${kind} ${hash}`
    const remembered = this.#remembered.get(name)
    if (remembered && remembered.until > monotonicMs()) return remembered.known
    if (address !== undefined) this.#guesses.begin(name, address)
    const known = this.#ask(credential)
    if (address !== undefined) void known.then((caller) => caller && this.#guesses.right(name, address)).catch(() => {})
    this.#remember(name, known)
    known.catch(() => this.#remembered.delete(name))
    return known
  }

  /** After a change of keys, roles or sessions through this process, it is the first to know. */
  forget(): void {
    for (const one of this.#remembered.values()) one.until = 0
  }

  openSession(caller: Caller, who: Actor): Promise<{ token: string; endsAt: Date }> {
    return this.#access.sessions.open(caller.key ?? { installation: this.#adminHash }, who)
  }

  async endSession(token: string, who: Actor): Promise<void> {
    await this.#access.sessions.end(token, this.#adminHash, who)
    this.forget()
  }

  async #ask(credential: Credential): Promise<KnownCaller | undefined> {
    if (credential.kind !== 'session') {
      const caller = await (credential.kind === 'key'
        ? this.#access.caller(credential.secret)
        : this.#access.callerOfCertificate(credential))
      return caller && { caller, bucket: this.#bucket(caller), credential, endsAt: undefined }
    }
    const session = await this.#access.sessions.find(credential.secret, this.#adminHash)
    if (!session) return undefined
    const { caller = this.#admin, endsAt } = session
    return { caller, bucket: session.caller && this.#bucket(session.caller), credential, endsAt }
  }

  /** One for a service, whichever of its keys and sessions it comes with: a second key is no second share. */
  #bucket({ service, rateLimit }: Caller): TokenBucket {
    const name = `${service} ${rateLimit}`
    const bucket = this.#buckets.get(name) ?? new TokenBucket(rateLimit)
    this.#buckets.set(name, bucket)
    return bucket
  }

  #remember(name: string, known: Promise<KnownCaller | undefined>): void {
    this.#remembered.delete(name)
    // The first in the map was asked for least lately. Whoever tries keys cannot fill the memory.
    if (this.#remembered.size >= mostRemembered) this.#remembered.delete(this.#remembered.keys().next().value as string)
    this.#remembered.set(name, { until: monotonicMs() + freshForMs, known })
  }
}
