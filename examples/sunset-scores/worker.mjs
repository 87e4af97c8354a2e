// A worker that runs the jobs and keeps the schedules. Several of them make each tick once all the same.
import { startWorker } from 'holdfast/worker'
import { holdfast, schedules, types } from './jobs.mjs'

await startWorker(holdfast, types, {
  concurrency: 5,
  schedules,
  retention: { completed: '1d', dead: '30d' },
  handleSignals: true,
})
console.log('ready')
