import { timingSafeEqual } from 'node:crypto'
import type { Access } from '../access/access.js'
import { hashOf } from '../access/key.js'
import type { Caller } from '../access/permissions.js'
import { monotonicMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import { TokenBucket } from './token-bucket.js'

export const shortestKey = 20
const freshForMs = 2_000
const mostRemembered = 10_000

/** A caller with what is left of its requests; the admin key has no limit. */
export interface KnownCaller {
  caller: Caller
  bucket: TokenBucket | undefined
}

interface Remembered {
  until: number
  known: Promise<KnownCaller | undefined>
}

/**
 * Whom a key stands for. Answers are remembered for two seconds, so that a service that sends a thousand requests a second does
 * not ask the database as often; a key that is revoked is let in that much longer by other processes than the one it was revoked in.
 */
export class Callers {
  readonly #access: Access
  readonly #adminHash: Buffer
  readonly #remembered = new Map<string, Remembered>()
  readonly #admin: KnownCaller = {
    caller: { service: 'admin', permissions: new Set(['admin']), types: undefined, rateLimit: Number.POSITIVE_INFINITY },
    bucket: undefined,
  }

  constructor(access: Access, adminKey: string) {
    if (adminKey.length < shortestKey) {
      const problem = `the admin key must have at least ${shortestKey} characters`
      throw new HoldfastError('invalid_configuration', problem, { field: 'adminKey' })
    }
    this.#access = access
    this.#adminHash = Buffer.from(hashOf(adminKey))
  }

  async find(key: string): Promise<KnownCaller | undefined> {
    const hash = hashOf(key)
    // Hashes are of one length, so the comparison takes the same time however much of the key was right.
    if (timingSafeEqual(Buffer.from(hash), this.#adminHash)) return this.#admin
    const remembered = this.#remembered.get(hash)
    if (remembered && remembered.until > monotonicMs()) return remembered.known
    const before = remembered?.known
    const known = this.#ask(key, before)
    this.#remember(hash, known)
    known.catch(() => this.#remembered.delete(hash))
    return known
  }

  /** After a change of keys or roles through this process, it is the first to know. */
  forget(): void {
    for (const one of this.#remembered.values()) one.until = 0
  }

  async #ask(key: string, before: Promise<KnownCaller | undefined> | undefined): Promise<KnownCaller | undefined> {
    const caller = await this.#access.caller(key)
    if (!caller) return undefined
    const last = await before?.catch(() => undefined)
    // The bucket goes on, or every two seconds would begin with a full one.
    const bucket = last?.caller.rateLimit === caller.rateLimit ? last.bucket : new TokenBucket(caller.rateLimit)
    return { caller, bucket }
  }

  #remember(hash: string, known: Promise<KnownCaller | undefined>): void {
    this.#remembered.delete(hash)
    // The first in the map was asked for least lately. Whoever tries keys cannot fill the memory.
    if (this.#remembered.size >= mostRemembered) this.#remembered.delete(this.#remembered.keys().next().value as string)
    this.#remembered.set(hash, { until: monotonicMs() + freshForMs, known })
  }
}
