import { readdirSync, readFileSync } from 'node:fs'

/** schema: tables, run once each. functions: the one current definition of each. queries: what the programs send. */
export type SqlFolder = 'schema' | 'functions' | 'queries'

/**
 * The SQL files of a folder beside this module, by name and in order. The build replaces this module by one that holds the texts
 * themselves, so that a bundled program reads no file.
 */
export function sqlFiles(folder: SqlFolder): ReadonlyMap<string, string> {
  const folderUrl = new URL(`./${folder}/`, import.meta.url)
  const names = readdirSync(folderUrl, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
  const files = names.filter((name) => name.endsWith('.sql')).sort()
  // A checkout on Windows may have other line ends, and migrate compares checksums with those of every other machine.
  return new Map(files.map((name) => [name, readFileSync(new URL(name, folderUrl), 'utf8').replaceAll('\r\n', '\n')]))
}
