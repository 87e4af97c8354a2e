import type pg from 'pg'
import { eventually } from './facts.js'

/**
 * Resolves when that call has ended or somebody in this database waits for a lock, whichever comes first. The client may be in a
 * transaction, in which PostgreSQL shows the backends as they were at the first look until it is told to forget them.
 */
export async function blockedOrDone(client: pg.Client, call: Promise<unknown>): Promise<void> {
  let done = false
  call.then(
    () => {
      done = true
    },
    () => {
      done = true
    },
  )
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => {
    await client.query('select pg_stat_clear_snapshot()')
    return done || (await client.query(waiting)).rowCount !== 0
  })
}
