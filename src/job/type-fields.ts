import { type Duration, toMilliseconds } from './duration.js'
import { refused, trueOrFalse, wholeNumber } from './refused.js'
import { defaultResultBytes, mostResultBytes } from './result.js'

const longestTimeoutMs = 7 * 86_400_000

/** Makes a payload of the next version out of one of the version it stands under. */
export type Upcasts = Readonly<Record<number, (payload: never) => unknown>>

export function readUpcasts(upcast: unknown, version: number): Upcasts {
  if (upcast === undefined) return {}
  const form = `must be an object of functions, each under the version from 1 to ${version - 1} that it takes`
  if (typeof upcast !== 'object' || upcast === null) throw refused('upcast', form)
  for (const [from, made] of Object.entries(upcast)) {
    const known = /^[1-9]\d*$/.test(from) && Number(from) < version
    if (!known || typeof made !== 'function') throw refused(`upcast.${from}`, `has no meaning: upcast ${form}`)
  }
  return Object.freeze({ ...upcast }) as Upcasts
}

/** A name that a type may have. */
export function checkName(name: unknown, field: string): string {
  if (typeof name === 'string' && /^[\w.:/-]{1,200}$/.test(name)) return name
  throw refused(field, `is ${JSON.stringify(name)}; a type name has 1 to 200 letters, digits or _ - . : /`)
}

export function readAliases(aliases: unknown, type: string): readonly string[] {
  if (aliases === undefined) return []
  if (!Array.isArray(aliases) || aliases.length > 20) throw refused('aliases', `of ${type} must be a list of at most 20 names`)
  const names = aliases.map((alias, at) => checkName(alias, `aliases[${at}]`))
  const twice = names.find((name, at) => name === type || names.indexOf(name) < at)
  if (twice !== undefined) throw refused('aliases', `of ${type} has ${twice} twice, or is its name of today`)
  return Object.freeze(names)
}

export function readTimeout(timeout: Duration, type: string): number {
  const ms = toMilliseconds(timeout, 'timeout')
  if (ms >= 1 && ms <= longestTimeoutMs) return Math.ceil(ms)
  throw refused('timeout', `of ${type} must lie between 1 ms and 7 days`)
}

export function readResultBytes({ keepResult, maxResultBytes }: { keepResult?: boolean; maxResultBytes?: number }): number {
  if (keepResult !== undefined) trueOrFalse(keepResult, 'keepResult')
  if (keepResult === false && maxResultBytes !== undefined) throw refused('maxResultBytes', 'has no use with keepResult: false')
  return keepResult === false ? 0 : wholeNumber(maxResultBytes ?? defaultResultBytes, 'maxResultBytes', 1, mostResultBytes)
}
