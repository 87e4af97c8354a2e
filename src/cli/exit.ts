import { type ErrorCode, HoldfastError } from '../errors.js'

/** What the process ends with, for scripts; docs/cli.md lists them. */
export const exitCodes = {
  done: 0,
  /** It was refused, or could not be done. */
  failed: 1,
  /** The command line is wrong, and nothing was tried. */
  usage: 2,
} as const

/** A command line that cannot be meant. Nothing was tried. */
export class UsageError extends HoldfastError {
  override readonly name = 'UsageError'

  constructor(message: string, field?: string, code: ErrorCode = 'invalid_option') {
    super(code, message, field === undefined ? {} : { field })
  }
}
