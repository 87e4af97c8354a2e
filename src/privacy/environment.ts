import { misconfigured } from '../job/refused.js'
import type { EncryptionOptions } from './keyring.js'

/** Reads the environment: HOLDFAST_ENCRYPTION_KEYS (`name:base64,name:base64`), and _CURRENT, _ALL, _STRICT. */
export function encryptionFrom(environment: Record<string, string | undefined>): EncryptionOptions | undefined {
  const { HOLDFAST_ENCRYPTION_KEYS: keys, HOLDFAST_ENCRYPTION_CURRENT: current } = environment
  const all = isOn('HOLDFAST_ENCRYPTION_ALL', environment)
  const strict = isOn('HOLDFAST_ENCRYPTION_STRICT', environment)
  if (!keys) return undefined
  const pairs = listed(keys).map((pair) => [pair.split(':')[0] as string, pair.slice(pair.indexOf(':') + 1)])
  return { keys: Object.fromEntries(pairs), current: current ?? pairs.at(-1)?.[0] ?? '', all, strict }
}

/** Any value but 1 and 0 is refused, so that a typo does not turn encryption off. */
function isOn(name: string, environment: Record<string, string | undefined>): boolean {
  const value = environment[name] ?? ''
  if (['1', 'true', 'on'].includes(value)) return true
  if (['', '0', 'false', 'off'].includes(value)) return false
  throw misconfigured(name, `is "${value}"; it must be 1 or 0`)
}

/** HOLDFAST_REDACT: paths separated by commas. */
export function redactFrom(environment: Record<string, string | undefined>): string[] {
  return listed(environment.HOLDFAST_REDACT ?? '')
}

function listed(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
