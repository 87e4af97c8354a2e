import { createHash, randomBytes } from 'node:crypto'

/** 24 random bytes cannot be guessed. The prefix tells people and scanners for leaked secrets what it is. */
const mark = 'hf_'
const shown = mark.length + 6

export interface FreshKey {
  /** The key itself, which is not stored. */
  key: string
  hash: string
  prefix: string
}

export function freshKey(): FreshKey {
  const key = mark + randomBytes(24).toString('base64url')
  return { key, hash: hashOf(key), prefix: key.slice(0, shown) }
}

/** The token in the cookie of a session, and the hash that is stored. It needs no prefix, because people never see it. */
export function freshSession(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * One round of SHA-256, in hex. A password would need a slow hash, because people choose guessable ones; 192 random bits cannot be
 * guessed, and every request computes this hash.
 */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
