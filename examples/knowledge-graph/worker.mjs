// A worker for all three lanes. "unsafe", because a lease is a minute at least, and nobody wants to watch an example for so long.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const handlers = new URL('./handlers.mjs', import.meta.url)
const lease = process.env.LEASE ?? '2s'
await startWorker(new Holdfast(), handlers, { concurrency: 4, lease, unsafe: true, handleSignals: true })
console.log('ready')
