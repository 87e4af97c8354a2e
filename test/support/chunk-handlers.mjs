// A handler for chunks. Each call is a line in the file that its jobs name, and at attempts up to `killUntil` the process kills itself.
import { appendFileSync } from 'node:fs'
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineType } from '../../dist/job/type.js'

export const chunked = defineType({
  type: 'chunked',
  lane: 'default',
  backoff: { base: 1, cap: 1, jitter: 0 },
  chunk: { size: 4, wait: '60s' },
  async run(jobs) {
    const [{ payload, ctx }] = jobs
    const names = jobs.map((job) => job.payload.name)
    appendFileSync(payload.file, `${JSON.stringify({ names, attempt: ctx.job.attempt, pid: process.pid })}\n`)
    for (const job of jobs) {
      if (job.payload.first) {
        await job.ctx.completeWith(async (tx) => {
          await tx.query('insert into orders values ($1)', [job.payload.name])
          return job.payload.name
        })
      }
    }
    if (jobs.some((job) => job.ctx.job.attempt <= (job.payload.killUntil ?? 0))) {
      process.kill(process.pid, 'SIGKILL')
      for (;;);
    }
    return names
  },
})
