// BullMQ, the same on both of its backends but for the connection.

/** One job a call of the backend: more at once hides the way there, up to what one event loop can do. */
const concurrency = 100

export function bullmqOn({ Queue, Worker, connect }) {
  return {
    async openProducer(url, { connections }) {
      const queue = new Queue('bench', { connection: connect(url, connections), defaultJobOptions: { removeOnComplete: true } })
      queue.on('error', console.error)
      await queue.waitUntilReady()
      return {
        one: (payload) => queue.add('bench', payload),
        many: (payloads) => queue.addBulk(payloads.map((data) => ({ name: 'bench', data }))),
        close: () => queue.close(),
      }
    },
    async startWorker(url, _options, handle) {
      let settled = 0
      const worker = new Worker('bench', async (job) => handle(job.data), { connection: connect(url, 24), concurrency })
      worker.on('completed', () => settled++)
      worker.on('error', console.error)
      await worker.waitUntilReady()
      return { settled: () => settled, stop: () => worker.close() }
    },
  }
}
