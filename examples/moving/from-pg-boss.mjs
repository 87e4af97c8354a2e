// Moves the jobs that wait in pg-boss into Holdfast, in the same database: each is deleted there and enqueued here in one transaction, so
// that it is never in both and never in neither. Ended or run twice, it goes on with what is left.
// DATABASE_URL=… node from-pg-boss.mjs
import { Holdfast } from 'holdfast'
import pg from 'pg'

const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
await client.connect()

/** pg-boss takes higher numbers first and has no bounds; its default is 0, that of Holdfast 5. */
const priorityOf = ({ priority }) => Math.min(9, Math.max(0, 5 + priority))

let moved = 0
try {
  for (;;) {
    await client.query('begin')
    const { rows } = await client.query(`
      delete from pgboss.job where (name, id) in (
        select name, id from pgboss.job where state in ('created', 'retry') and name not like '\\_\\_pgboss%'
        order by created_on limit 1000 for update skip locked)
      returning id, name, data, priority, retry_limit, retry_count, start_after, created_on`)
    if (rows.length === 0) break
    rows.sort((one, other) => one.created_on - other.created_on)
    await holdfast.enqueueMany(
      rows.map((row) => ({
        type: row.name,
        payload: row.data ?? {},
        priority: priorityOf(row),
        maxAttempts: Math.min(20, Math.max(1, row.retry_limit - row.retry_count + 1)),
        runAt: row.start_after,
        idempotencyKey: `pg-boss:${row.id}`,
      })),
      { tx: client },
    )
    await client.query('commit')
    moved += rows.length
  }
} finally {
  await client.query('rollback')
  await client.end()
  await holdfast.close()
}
console.log(`moved ${moved} jobs`)
