import { sqlFiles } from './sql-files.js'

/**
 * What every program needs of the SQL. The build replaces this module too, by one that holds the texts: the rest, five times as much, is loaded
 * by those who migrate.
 */
export function queryFiles(): ReadonlyMap<string, string> {
  return sqlFiles('queries')
}

/** The number of the last schema file of this version. */
export function newestSchemaFile(): number {
  return Math.max(0, ...[...sqlFiles('schema').keys()].map((file) => Number.parseInt(file, 10)))
}
