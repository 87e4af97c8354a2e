import { Console } from 'node:console'
import { hostname } from 'node:os'
import { wallMs } from '../clock.js'
import { levelNumbers, readLogLevel } from '../job/log-level.js'
import { jsonLines } from './json-lines.js'

/** What a worker needs of a log: pino's shape, so that the program's own can be given. */
export interface Logger {
  /** Where it is missing, what ended well is not logged. */
  debug?(fields: object, message: string): void
  /** Where it is missing, debug is taken to be wanted by a log that has it. */
  isLevelEnabled?(level: string): boolean
  /** The course of things: the worker starts, a job was cancelled. */
  info(fields: object, message: string): void
  /** What may need a person: an attempt failed, a job is dead. */
  warn(fields: object, message: string): void
  /** What does need one: a result cannot be written, a part of the worker fails. */
  error(fields: object, message: string): void
}

/** JSON lines on standard error. HOLDFAST_LOG_LEVEL sets how many. */
export function defaultLogger(): Logger {
  const least = readLogLevel({ name: 'HOLDFAST_LOG_LEVEL', value: process.env.HOLDFAST_LOG_LEVEL })
  const base = { pid: process.pid, hostname: hostname(), name: 'holdfast' }
  // A console of its own: it takes no notice of a reader that has gone, which would end the process, and nobody has replaced its methods.
  const out = new Console({ stdout: process.stderr, ignoreErrors: true })
  return jsonLines(least, { level: (level) => levelNumbers[level], time: wallMs, base }, (line) => out.log(line))
}

/** A log that takes the message first, as winston and `console` do. */
export interface MessageFirstLog {
  debug?(message: string, fields: object): unknown
  isLevelEnabled?(level: string): boolean
  /** As `info` of a Logger, with the message first. */
  info(message: string, fields: object): unknown
  /** As `warn` of a Logger, with the message first. */
  warn(message: string, fields: object): unknown
  /** As `error` of a Logger, with the message first. */
  error(message: string, fields: object): unknown
}

/**
 * Makes a log for workers and servers of winston, `console` or another that takes the message first. What completed is given only to a log that
 * can say whether it wants that (`isLevelEnabled`), because it is thousands of lines a second.
 * @example
 * import { messageFirst, startWorker } from 'holdfast/worker'
 *
 * await startWorker(holdfast, [sendEmail], { logger: messageFirst(console) })
 */
export function messageFirst(log: MessageFirstLog): Logger {
  const turned = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    void log[level]?.(message, fields)
  return {
    info: turned('info'),
    warn: turned('warn'),
    error: turned('error'),
    ...(log.isLevelEnabled && {
      debug: turned('debug'),
      isLevelEnabled: (level: string) => log.isLevelEnabled?.(level) ?? false,
    }),
  }
}
