import { createHash, randomBytes } from 'node:crypto'

/** Enough that nobody guesses it: 24 random bytes. The beginning says what it is, for people and for scanners of leaked secrets. */
const mark = 'hf_'
const shown = mark.length + 6

export interface FreshKey {
  /** The key itself. It is nowhere else. */
  key: string
  hash: string
  prefix: string
}

export function freshKey(): FreshKey {
  const key = mark + randomBytes(24).toString('base64url')
  return { key, hash: hashOf(key), prefix: key.slice(0, shown) }
}

/** What the cookie of a session holds, and what is kept of it. Nobody types it, so it says nothing about itself. */
export function freshSession(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * One round of SHA-256, in hex. A password would need a slow hash, because people choose what can be guessed; of 192 random
 * bits nothing can be, and every request pays for it.
 */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
