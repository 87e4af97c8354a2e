// The signup: the user and four jobs are one commit, and the answer does not wait for any of them.
import { fastify } from 'fastify'
import { Holdfast } from 'holdfast'
import pg from 'pg'
import { makePdf, resizeAvatar, sendEmail, syncCrm } from './handlers.mjs'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const holdfast = new Holdfast()
const app = fastify()

app.post('/signup', async ({ body: { email, image } }, reply) => {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    const { rows } = await tx.query('insert into account (email) values ($1) returning id', [email])
    const of = { user: rows[0].id, email }
    const jobs = [sendEmail.job(of), syncCrm.job(of), makePdf.job(of), resizeAvatar.job({ user: of.user, image })]
    const made = await holdfast.enqueueMany(jobs, { tx })
    await tx.query('commit')
    return reply.status(201).send({ user: of.user, jobs: made.map(({ id }) => id) })
  } catch (error) {
    await tx.query('rollback')
    throw error
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
