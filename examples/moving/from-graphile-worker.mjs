// Moves the jobs that wait in graphile-worker into Holdfast, in the same database: each is deleted there and enqueued here in one
// transaction, so that it is never in both and never in neither. Ended or run twice, it goes on with what is left.
// DATABASE_URL=… node from-graphile-worker.mjs
import { Holdfast } from 'holdfast'
import pg from 'pg'

const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
await client.connect()

/** graphile-worker takes lower numbers first and has no bounds; its default is 0, that of Holdfast 5. */
const priorityOf = ({ priority }) => Math.min(9, Math.max(0, 5 - priority))

let moved = 0
try {
  for (;;) {
    await client.query('begin')
    const { rows } = await client.query(`
      with taken as (
        delete from graphile_worker._private_jobs where id in (
          select id from graphile_worker._private_jobs where locked_at is null and attempts < max_attempts
          order by id limit 1000 for update skip locked)
        returning *)
      select taken.*, t.identifier, q.queue_name from taken
      join graphile_worker._private_tasks as t on t.id = taken.task_id
      left join graphile_worker._private_job_queues as q on q.id = taken.job_queue_id
      order by taken.id`)
    if (rows.length === 0) break
    await holdfast.enqueueMany(
      rows.map((row) => ({
        type: row.identifier,
        payload: row.payload,
        priority: priorityOf(row),
        maxAttempts: Math.min(20, row.max_attempts - row.attempts),
        runAt: row.run_at,
        idempotencyKey: `graphile-worker:${row.id}`,
        // A named queue runs one job at a time: limits: { maxRunningPerKey: 1 } in the type says the same, ordered: true in order.
        ...(row.queue_name && { concurrencyKey: row.queue_name }),
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
