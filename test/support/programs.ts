import { accessSync, appendFileSync, constants, existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { describe, test } from 'vitest'

/** Programs of the system that some tests use, under the names they go by. How to install them is in tools/test.mjs. */
const names = {
  chromium: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  pgbouncer: ['pgbouncer'],
  'redis-server': ['redis-server'],
  promtool: ['promtool'],
  prometheus: ['prometheus'],
  openssl: ['openssl'],
  // Runs a command at a terminal of its own.
  script: ['script'],
  zsh: ['zsh'],
  fish: ['fish'],
  spin: ['spin'],
  cc: ['cc'],
  // An extension for the PostgreSQL of Debian 12.
  plproxy: ['/usr/share/postgresql/15/extension/plproxy.control'],
  patroni: ['patroni'],
  etcd: ['etcd'],
  haproxy: ['haproxy'],
  // The PostgreSQL that Debian 12 has, with its tools.
  'postgresql-15': ['/usr/lib/postgresql/15/bin/postgres'],
  go: ['go'],
  python3: ['python3'],
} as const

export type Program = keyof typeof names

/** The path of the program, or undefined, having noted for the end of the run that `what` was not run. */
export function needs(program: Program, what: string): string | undefined {
  // Debian keeps daemons such as pgbouncer where an ordinary user's PATH does not look.
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  const [first] = names[program]
  const found = isAbsolute(first)
    ? [first].find(existsSync)
    : directories.flatMap((directory) => names[program].map((name) => join(directory, name))).find(isExecutable)
  const notes = process.env.HOLDFAST_NOT_RUN_FILE
  if (!found && notes) appendFileSync(notes, `${JSON.stringify({ program, test: what })}\n`)
  return found
}

/** A test that needs the program and is skipped, and named at the end of the run, where that is not installed. */
export function whenInstalled(program: Program, name: string, fn: (path: string) => unknown, timeout?: number): void {
  const path = needs(program, name)
  test.skipIf(!path)(name, async () => void (await fn(path as string)), timeout)
}

/** The same for a group of tests. */
export function describeWhenInstalled(program: Program, name: string, fn: (path: string) => void): void {
  const path = needs(program, name)
  if (path) describe(name, () => fn(path))
  else test.skip(name)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
