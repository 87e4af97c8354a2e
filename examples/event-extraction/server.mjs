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
    // The revision is the key: it stays when the job is long forgotten. A request at the same moment waits here for the first to commit.
    const store =
      'insert into artifact_revision values ($1, $2, $3) on conflict (artifact, revision) do nothing returning artifact'
    const { rowCount } = await tx.query(store, [artifact, revision, body.text])
    const job = rowCount > 0 && (await holdfast.enqueue(extract, { artifact, revision }, { tx }))
    await tx.query('commit')
    return reply.status(job ? 202 : 200).send({ artifact, revision, ...(job && { job: job.id }) })
  } catch (error) {
    await tx.query('rollback')
    // 23502: a text is missing. A payload that the type refuses is answered with 422; the revision has gone with the job.
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
