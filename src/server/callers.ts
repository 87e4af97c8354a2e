import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Access } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import { hashOf } from '../access/key.js'
import { monotonicMs } from '../clock.js'
import type { Actor } from '../job/actor.js'
import { misconfigured } from '../job/refused.js'
import type { Credential } from './credential.js'
import { Guesses } from './guesses.js'
import { SharedBucket } from './shared-bucket.js'

export const shortestKey = 20
const freshForMs = 1_000
const mostRemembered = 10_000

/** A caller with what is left of its requests; the admin key has no limit. */
export interface KnownCaller {
  caller: Caller
  bucket: SharedBucket | undefined
  /** The key, session or certificate it was identified by. */
  credential: Credential
  /** When its session ends, if it has one. */
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
 * Finds the caller of a key, a session or a certificate. It caches answers for a second, so that a service that sends a thousand requests
 * a second does not cause as many queries; server processes other than the one in which a key was revoked accept it that much longer.
 */
export class Callers {
  readonly #access: Access
  readonly #adminHash: string
  readonly #remembered = new Map<string, Remembered>()
  readonly #buckets = new Map<string, SharedBucket>()
  readonly #guesses = new Guesses()
  readonly #admin: Caller = {
    key: null,
    service: 'admin',
    permissions: new Set(['admin']),
    types: undefined,
    rateLimit: Number.POSITIVE_INFINITY,
  }

  constructor(access: Access, adminKey: string | undefined) {
    this.#access = access
    // Without an admin key there is one that nobody knows.
    this.#adminHash = hashOf(adminKey ?? randomBytes(32).toString('hex'))
  }

  /** The address counts against guesses from there. */
  async find(credential: Credential, address?: string): Promise<KnownCaller | undefined> {
    const { kind } = credential
    const hash = hashOf(kind === 'certificate' ? JSON.stringify(credential) : credential.secret)
    // Hashes have one length, so the comparison takes the same time however much of the key matches.
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

  /** Clears the cache after a change of keys, roles or sessions through this process. */
  forget(): void {
    for (const one of this.#remembered.values()) one.until = 0
  }

  openSession(caller: Caller, who: Actor): Promise<{ token: string; endsAt: Date }> {
    return this.#access.sessions.open(caller.key ?? { installation: this.#adminHash }, who)
  }

  /** A session of a person whom the provider knows. */
  openSessionOf(person: string, roles: readonly string[], from: string): Promise<{ token: string; endsAt: Date }> {
    return this.#access.sessions.open({ person, roles }, { by: person, from })
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

  /** One bucket per service, which its keys and sessions share: a second key does not double the limit. */
  #bucket({ service, rateLimit }: Caller): SharedBucket {
    const name = `${service} ${rateLimit}`
    const bucket =
      this.#buckets.get(name) ?? new SharedBucket(rateLimit, (count) => this.#access.spendRequests(service, rateLimit, count))
    this.#buckets.set(name, bucket)
    return bucket
  }

  #remember(name: string, known: Promise<KnownCaller | undefined>): void {
    this.#remembered.delete(name)
    // The first in the map is the least recently used. So nobody can fill the memory by trying keys.
    if (this.#remembered.size >= mostRemembered) this.#remembered.delete(this.#remembered.keys().next().value as string)
    this.#remembered.set(name, { until: monotonicMs() + freshForMs, known })
  }
}
