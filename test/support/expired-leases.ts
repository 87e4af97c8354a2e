import pg from 'pg'
import { type Queue, work } from './queue.js'

type Sql = Queue['sql']

/** Workers that died are rows whose process is nowhere. */
export async function addDeadWorker({ sql }: { sql: Sql }): Promise<number> {
  const [row] = await sql(
    "insert into holdfast.workers (name, host, pid, version) values ('dead', 'nowhere', 0, '0') returning id",
  )
  return row?.id
}

/**
 * Jobs that a dead worker had claimed, some of them under each lease, all leases over. Answers with the job ids. In one
 * transaction: nobody who lives sees them free.
 */
export async function addOrphans(
  queue: Queue,
  many: { leases: number; jobsEach?: number; maxAttempts?: number; payload?: object },
): Promise<string[]> {
  const { leases, jobsEach = 1, maxAttempts = 20, payload = {} } = many
  const count = leases * jobsEach
  const client = new pg.Client({ connectionString: queue.url })
  await client.connect()
  try {
    await client.query('begin')
    const jobs = await queue.holdfast.enqueueMany(
      Array.from({ length: count }, () => work.job(payload, { maxAttempts })),
      { tx: client },
    )
    await loseAll({ sql: async (text, values) => (await client.query(text, values)).rows }, jobsEach)
    await client.query('commit')
    return jobs.map(({ id }) => id)
  } finally {
    await client.end()
  }
}

/** Lets a dead worker claim every free job, so many under each lease, and lets the leases be over. */
export async function loseAll(queue: { sql: Sql }, jobsEach = 1): Promise<void> {
  await queue.sql(
    `with free as (
       select job_id, (row_number() over (order by random()) - 1) / $2::int as bundle from holdfast.queue where lease_id is null
     ), lost as (
       insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
       select nextval('holdfast.lease_seq'), $1, holdfast.now() - interval '1 minute', holdfast.now() - interval '1 second',
              array_agg(job_id)
       from free group by bundle
       returning id, jobs
     )
     update holdfast.queue as q set lease_id = held.id
     from (select lost.id, job.id as job_id from lost, unnest(lost.jobs) as job (id)) as held where q.job_id = held.job_id`,
    [await addDeadWorker(queue), jobsEach],
  )
}
