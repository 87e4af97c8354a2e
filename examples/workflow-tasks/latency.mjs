// How long an idle worker takes from the enqueue of a job to its start, called by NOTIFY or by a Redis, or finding it by polling alone:
// prints the median.
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const holdfast = new Holdfast(process.env.BY === 'redis' ? { wakeUrl: process.env.REDIS } : {})
const samples = Number(process.env.SAMPLES)
let started = () => {}
const probe = defineType({ type: `probe_${process.env.BY}`, run: () => started(performance.now()) })
const worker = await startWorker(holdfast, [probe], process.env.BY === 'poll' ? { listen: false, poll: '1s' } : {})
const times = []
for (let n = 0; n < samples; n++) {
  // After a task a worker looks for more by itself, and at no fixed moment of its poll.
  await new Promise((idle) => setTimeout(idle, 250 + 100 * Math.random()))
  const start = new Promise((resolve) => {
    started = resolve
  })
  const enqueued = performance.now()
  await holdfast.enqueue(probe, {})
  times.push((await start) - enqueued)
}
console.log(times.sort((a, b) => a - b)[Math.floor(samples / 2)])
await worker.stop()
await holdfast.close()
