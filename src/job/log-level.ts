import { showValue } from './failure.js'
import { misconfigured } from './refused.js'

/** How much is logged, from everything to nothing, and the number that a line has for it: those of pino. */
export const levelNumbers = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Number.POSITIVE_INFINITY }

export type LogLevel = keyof typeof levelNumbers

/** What a setting of that name asks for; an empty one counts as none. */
export function readLogLevel({ name, value }: { name: string; value: string | undefined }): LogLevel {
  if (!value) return 'info'
  if (Object.hasOwn(levelNumbers, value)) return value as LogLevel
  throw misconfigured([name], `is ${showValue(value)}; it must be one of ${Object.keys(levelNumbers).join(', ')}`)
}
