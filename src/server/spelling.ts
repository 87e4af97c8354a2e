import { HoldfastError, UniqueConflictError } from '../errors.js'
import { fieldOf, messageOf, type Path, pathOf } from '../issue.js'

/** The library writes `maxAttempts`, HTTP `max_attempts`. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/**
 * An error of the library as HTTP tells it: the names of options in snake_case, and the field from the top of the request. It is
 * written anew from the parts of the error, so that a name of the caller's own stays as it is wherever it stands.
 */
export function overHttp(error: unknown, at: Path = []): unknown {
  if (!(error instanceof HoldfastError) || error instanceof UniqueConflictError) return error
  const issues = error.issues.map((issue) => ({ ...issue, path: [...at, ...issue.path] }))
  const [first] = issues
  const path = first?.path ?? (error.field === undefined ? undefined : [...at, ...pathOf(error.field)])
  const ours = error.issues.length > 0 && error.issues.every((issue) => issue.words)
  const message = ours ? messageOf(error.issues, 'several fields are wrong', snakeCase) : error.message
  return new HoldfastError(error.code, message, {
    ...(path && { field: fieldOf(path, snakeCase) }),
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
    issues,
    cause: error,
  })
}
