// One worker; start as many as you like, on as many machines as you like.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { extractEvents } from './extraction.mjs'

const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
// "unsafe", because a lease is a minute at least, and nobody wants to watch an example for so long.
const worker = await startWorker(holdfast, [extractEvents(pool)], { concurrency: 5, lease: process.env.LEASE, unsafe: true })
console.log('ready')
process.once('SIGTERM', async () => {
  await worker.stop()
  await pool.end()
  await holdfast.close()
})
