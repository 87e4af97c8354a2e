import { type Duration, toMilliseconds } from '../job/duration.js'
import { refused } from '../job/refused.js'
import type { SettingRow } from '../store/settings-store.js'
import type { DoneBy } from './states.js'

/** Settings of the whole installation that are times. */
const times = ['retention_completed', 'retention_dead', 'retention_audit', 'retention_keys', 'remote_grace', 'lease'] as const
/** Those that are numbers. */
const counts = ['max_snoozes', 'max_hand_backs', 'archive_first'] as const

/** The name of a setting of the whole installation. */
export type SettingName = (typeof times)[number] | (typeof counts)[number]

/** A setting of the whole installation. Times are in milliseconds. */
export interface SettingState {
  name: SettingName
  /** What counts: the operator's value, or else that of the code, or else the standard. */
  value: number
  standard: number
  /** What the code of a worker named; null: none did. */
  code: number | null
  /** What an operator said; null: none did, or it was given back to the code. */
  operator: number | null
  changed: DoneBy | null
}

/** Whether a setting is a time, which is kept in milliseconds. */
export function isTime(name: string): boolean {
  return (times as readonly string[]).includes(name)
}

/** Checks a value as it is given, and brings it into the form it is stored in. */
export function readSetting(name: string, value: Duration | number | null): number | null {
  if (value === null) return null
  if (isTime(name)) return toMilliseconds(value as Duration, 'value')
  if (!(counts as readonly string[]).includes(name)) return Number(value)
  if (Number.isInteger(value)) return value as number
  throw refused('value', `is ${String(value)}; ${name} is a whole number`)
}

export function settingState({ name, defined, changed, ...row }: SettingRow): SettingState {
  return { ...row, name: name as SettingName, code: defined, changed: changed && { ...changed, at: new Date(changed.at) } }
}
