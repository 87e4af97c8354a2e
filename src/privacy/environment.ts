import type { EncryptionOptions } from './keyring.js'

/** What the environment says: HOLDFAST_ENCRYPTION_KEYS (`name:base64,name:base64`), HOLDFAST_ENCRYPTION_CURRENT, HOLDFAST_ENCRYPTION_ALL. */
export function encryptionFrom(environment: Record<string, string | undefined>): EncryptionOptions | undefined {
  const { HOLDFAST_ENCRYPTION_KEYS: keys, HOLDFAST_ENCRYPTION_CURRENT: current, HOLDFAST_ENCRYPTION_ALL: all } = environment
  if (!keys) return undefined
  const pairs = listed(keys).map((pair) => [pair.split(':')[0] as string, pair.slice(pair.indexOf(':') + 1)])
  return { keys: Object.fromEntries(pairs), current: current ?? pairs.at(-1)?.[0] ?? '', all: all === 'true' }
}

/** HOLDFAST_REDACT: paths with commas between them. */
export function redactFrom(environment: Record<string, string | undefined>): string[] {
  return listed(environment.HOLDFAST_REDACT ?? '')
}

function listed(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
