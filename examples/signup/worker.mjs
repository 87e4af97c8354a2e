// A worker for everything. LEASE is what a bad deploy sets too short.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const handlers = new URL('./handlers.mjs', import.meta.url)
const lease = process.env.LEASE
try {
  await startWorker(new Holdfast(), handlers, { concurrency: 20, handleSignals: true, ...(lease && { lease }) })
  console.log('ready')
} catch (error) {
  console.log(error.message)
  process.exit(1)
}
