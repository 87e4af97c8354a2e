import { existsSync } from 'node:fs'
import { misconfigured } from '../job/refused.js'

/** What `holdfast up` keeps on this machine stands here, below the directory it was started in. */
export const homeOfUp = '.holdfast'

/** Where the address that is missing can be found: nothing, if `holdfast up` has not run here with a PostgreSQL of its own. */
export function addressOfUp(): string {
  const file = `${homeOfUp}/database.url`
  return existsSync(file) ? `; that of holdfast up is in ${file}: export DATABASE_URL="$(cat ${file})"` : ''
}

/** The driver accepts almost any text, and would then connect to a wrong host. */
export function checkDatabaseUrl(url: string, givenAs: string): void {
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return
  // The message does not repeat it, because it may contain a password.
  throw misconfigured(
    [givenAs],
    'is not the address of a PostgreSQL database; it looks like postgres://user:password@host:port/name',
  )
}

/** The address without the password; of a Redis too. */
export function describeDatabaseUrl(url: string): string {
  const { hostname, port, pathname } = new URL(url)
  return `${pathname.slice(1) || 'the default database'} on ${hostname || 'this machine'}${port && `:${port}`}`
}
