// The API of the application: stores a revision and enqueues its extraction in one transaction, and answers at once.
import { fastify } from 'fastify'
import { Holdfast } from 'holdfast'
import pg from 'pg'
import { extractEvents } from './extraction.mjs'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
const extract = extractEvents(pool)
const app = fastify()

app.put('/artifacts/:artifact/revisions/:revision', async ({ params: { artifact, revision }, body }, reply) => {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    // One job for each artifact, revision and type: the key belongs to the type.
    const job = await holdfast.enqueue(extract, { artifact, revision }, { tx, idempotencyKey: `${artifact}:${revision}` })
    const store = 'insert into artifact_revision values ($1, $2, $3) on conflict (artifact, revision) do nothing'
    await tx.query(store, [artifact, revision, body.text])
    await tx.query('commit')
    return reply.status(job.status === 'created' ? 202 : 200).send({ job: job.id })
  } catch (error) {
    await tx.query('rollback')
    // 23502: a text is missing. The job that was enqueued before it is gone with the transaction.
    if (error.code !== '23502') throw error
    return reply.status(400).send({ error: 'a revision needs a text' })
  } finally {
    tx.release()
  }
})

console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
process.once('SIGTERM', async () => {
  await app.close()
  await holdfast.close()
  await pool.end()
})
