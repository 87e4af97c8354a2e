import { pino } from 'pino'

/** What a worker needs of a log: pino's shape, so that the program's own can be given. */
export interface Logger {
  /** Where it is missing, what ended well is not logged. */
  debug?(fields: object, message: string): void
  /** Where it is missing, debug is taken to be wanted by a log that has it. */
  isLevelEnabled?(level: string): boolean
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** JSON lines on standard error. HOLDFAST_LOG_LEVEL sets how many. */
export function defaultLogger(): Logger {
  return pino({ name: 'holdfast', level: process.env.HOLDFAST_LOG_LEVEL ?? 'info' }, pino.destination(2))
}
