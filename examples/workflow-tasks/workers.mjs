// Four workers in one process. What the document calls the batch size is their concurrency: so many tasks are claimed at once.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { pipeline } from './pipeline.mjs'

const concurrency = Number(process.env.BATCH_SIZE ?? 5)
const running = []
for (let n = 0; n < 4; n++) {
  const holdfast = new Holdfast({ connections: 4 })
  // "unsafe", because a lease is a minute at least, and nobody wants to watch an example for so long.
  const worker = await startWorker(holdfast, [pipeline], { concurrency, lease: process.env.LEASE ?? '2s', unsafe: true })
  running.push({ holdfast, worker })
}
console.log('ready')
process.once('SIGTERM', async () => {
  await Promise.all(running.map(({ worker }) => worker.stop()))
  await Promise.all(running.map(({ holdfast }) => holdfast.close()))
})
