// As in graphile-worker's own performance test: jobs fetched 500 at a time, completions written together.
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker'
import pg from 'pg'

const logger = new Logger(() => (level, message) => level === 'error' && console.error(message))

export async function prepare(url) {
  await runMigrations({ connectionString: url, logger })
}

/** `keys`: over so many named queues, each of which runs one job at a time. */
export async function openProducer(url, { connections, keys }) {
  let stored = 0
  const queue = () => (keys ? { queueName: `key ${stored++ % keys}` } : {})
  const pgPool = new pg.Pool({ connectionString: url, max: connections })
  pgPool.on('error', console.error)
  // It asks for this one too.
  pgPool.on('connect', (client) => client.on('error', console.error))
  const utils = await makeWorkerUtils({ pgPool, logger })
  return {
    one: (payload) => utils.addJob('bench', payload),
    many: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: 'bench', payload, ...queue() }))),
    async close() {
      await utils.release()
      await pgPool.end()
    },
  }
}

export async function startWorker(url, { goal }, handle) {
  const batched = {
    localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  }
  const runner = await run({
    preset: {
      worker: { connectionString: url, concurrentJobs: 24, maxPoolSize: 26, logger, ...(goal === 'latency' ? {} : batched) },
    },
    taskList: {
      async bench(payload) {
        handle(payload)
      },
    },
    noHandleSignals: true,
  })
  let settled = 0
  // Said when the completion has been written.
  runner.events.on('job:complete', () => settled++)
  return { settled: () => settled, stop: () => runner.stop() }
}
