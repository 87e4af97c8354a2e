import { Holdfast, type HoldfastOptions } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach } from 'vitest'

export interface FreshInstallation {
  scratch: ScratchDatabase
  holdfast: Holdfast
  /** A connection of a superuser. */
  sql: pg.Client
}

/** Each test of the file gets a database of its own; `begin` takes what was made, and may do more before the test. */
export function eachTestHas(
  options: Omit<HoldfastOptions, 'connectionString'>,
  begin: (made: FreshInstallation) => unknown,
): void {
  let made: FreshInstallation
  beforeEach(async () => {
    const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
    const { connectionString } = scratch
    made = { scratch, holdfast: new Holdfast({ ...options, connectionString }), sql: new pg.Client({ connectionString }) }
    await made.sql.connect()
    await begin(made)
  })
  afterEach(async () => {
    await made.sql.end()
    await made.holdfast.close()
    await made.scratch.drop()
  })
}
