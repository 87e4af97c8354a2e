import { type LogLevel, levelNumbers } from '../job/log-level.js'
import type { Logger } from './logger.js'

type Said = Exclude<LogLevel, 'silent'>

/** How the lines of one log begin. */
export interface Beginning {
  level(level: Said): string | number
  time(): string | number
  /** What every line says. */
  base: object
}

/**
 * A log of JSON objects, one a line, with the keys that pino gives them, so that whatever reads its lines reads these. It is not pino itself
 * because that and its packages are half of what an install would bring, and a good part of the time in which a worker starts.
 */
export function jsonLines(least: LogLevel, { level, time, base }: Beginning, write: (line: string) => void): Logger {
  const isEnabled = (name: string) => (levelNumbers[name as LogLevel] ?? 0) >= levelNumbers[least]
  const say = (name: Said) => (fields: object, msg: string) => {
    if (isEnabled(name)) write(encode({ level: level(name), time: time(), ...base, ...fields, msg }))
  }
  return { isLevelEnabled: isEnabled, debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

/** A line that cannot be written as JSON must not fail what it is about. */
function encode(line: { msg: string; [field: string]: unknown }): string {
  try {
    return JSON.stringify(line, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  } catch (error) {
    return JSON.stringify({ msg: line.msg, unreadable: String(error) })
  }
}
