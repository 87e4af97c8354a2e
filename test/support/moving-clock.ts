import type pg from 'pg'

/** Moves the database's clock that far ahead of the real one; time runs on from there. */
export async function moveClock(client: pg.Client, ahead: string): Promise<void> {
  await client.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                      as 'select pg_catalog.clock_timestamp() + interval ''${ahead}'''`)
}
