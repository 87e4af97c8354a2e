// Moves the jobs that wait in a queue of BullMQ into Holdfast. Redis and PostgreSQL share no transaction, so a job is enqueued here first and
// removed there after that: ended in between, it is in both, and the next run finds it by its idempotency key and only removes it. Stop
// the workers of the queue before, or one may run a job that is here already.
// DATABASE_URL=… REDIS_URL=redis://… node from-bullmq.mjs mails
import { Queue } from 'bullmq'
import { Holdfast } from 'holdfast'
import { Redis } from 'ioredis'

const [name] = process.argv.slice(2)
const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null })
const queue = new Queue(name, { connection: redis })
await queue.pause()

/** BullMQ takes jobs without a priority first, then lower numbers before higher ones. */
const priorityOf = ({ opts }) => (opts.priority ? Math.max(0, 5 - opts.priority) : 5)

let moved = 0
try {
  for (;;) {
    const jobs = await queue.getJobs(['waiting', 'paused', 'prioritized', 'delayed'], 0, 999, true)
    if (jobs.length === 0) break
    await holdfast.enqueueMany(
      jobs.map((job) => ({
        type: job.name,
        payload: job.data,
        priority: priorityOf(job),
        maxAttempts: Math.min(20, Math.max(1, (job.opts.attempts ?? 1) - job.attemptsMade)),
        runAt: new Date(job.timestamp + (job.delay ?? 0)),
        idempotencyKey: `bullmq:${name}:${job.id}`,
      })),
    )
    for (const job of jobs) await job.remove()
    moved += jobs.length
  }
} finally {
  await queue.close()
  await redis.quit()
  await holdfast.close()
}
console.log(`moved ${moved} jobs`)
