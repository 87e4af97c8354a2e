import type { IncomingMessage } from 'node:http'
import { showValue } from '../job/failure.js'
import { misconfigured } from '../job/refused.js'

export function checkPrefix(prefix: string, field: string): string {
  if (prefix === '' || (typeof prefix === 'string' && /^(?:\/[\w.~-]+)+$/.test(prefix))) return prefix
  throw misconfigured(field, `is ${showValue(prefix)}; it must be a path such as /holdfast, without a slash at its end`)
}

/** The rest of an address below the prefix; one that is not below it stays as it is. */
export function withoutPrefix(url: string, prefix: string): string {
  if (prefix === '' || !url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest.startsWith('/')) return rest
  return rest === '' || rest.startsWith('?') ? `/${rest}` : url
}

/** The path that the client asked for, before a framework or we ourselves took the front of it away. */
export function askedPath(request: IncomingMessage & { originalUrl?: string }): string {
  return (request.originalUrl ?? request.url ?? '/').split('?')[0] as string
}

/** What a framework or we ourselves took away of it; empty: nothing. */
export function pathBefore(request: IncomingMessage & { originalUrl?: string }): string {
  const [asked, rest] = [askedPath(request), (request.url ?? '/').split('?')[0] as string]
  return asked.endsWith(rest) ? asked.slice(0, -rest.length) : ''
}
