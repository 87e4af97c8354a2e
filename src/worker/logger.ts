import { pino } from 'pino'

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
  return pino({ name: 'holdfast', level: process.env.HOLDFAST_LOG_LEVEL ?? 'info' }, pino.destination(2))
}
