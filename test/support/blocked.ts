import type pg from 'pg'
import { eventually } from './facts.js'

/** Resolves when that call has ended or somebody in this database waits for a lock, whichever comes first. */
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
  await eventually(async () => done || (await client.query(waiting)).rowCount === 1)
}
