import { createPostgresBackend, withBackend } from 'bullmq'
import { bullmqOn } from './bullmq.mjs'

const { Queue, Worker } = withBackend(createPostgresBackend)
const connect = (url, connections) => ({ connectionString: url, max: connections })

export async function prepare(url) {
  const queue = new Queue('bench', { connection: { connectionString: url, migrate: true } })
  await queue.waitUntilReady()
  await queue.close()
}
export const { openProducer, startWorker } = bullmqOn({ Queue, Worker, connect })
