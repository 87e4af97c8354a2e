import { misconfigured } from '../job/refused.js'

/** The driver makes something of almost any text, and then looks for a host nobody meant. */
export function checkDatabaseUrl(url: string, givenAs: string): void {
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return
  // Not repeated in the message: it may hold a password.
  throw misconfigured(
    [givenAs],
    'is not the address of a PostgreSQL database; it looks like postgres://user:password@host:port/name',
  )
}

/** The address as it may be shown: where, and never the password. */
export function describeDatabaseUrl(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return `${pathname.slice(1) || 'the default database'} on ${hostname || 'this machine'}${port && `:${port}`}`
}
