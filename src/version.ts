import { readFileSync } from 'node:fs'

/** The version of this package: code, schema and server are always of one. */
export const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
