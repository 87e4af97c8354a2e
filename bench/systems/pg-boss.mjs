// pg-boss in burst mode: four fetchers, each with a batch handler of 500.
import { PgBoss } from 'pg-boss'

async function open(url, options) {
  const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false, ...options })
  boss.on('error', console.error)
  await boss.start()
  return boss
}

export async function prepare(url) {
  const boss = await open(url, {})
  await boss.createQueue('bench')
  await boss.createQueue('called', { notify: true })
  await boss.stop({ graceful: false })
}

export async function openProducer(url, { connections, goal }) {
  const boss = await open(url, { max: connections })
  const queue = goal === 'latency' ? 'called' : 'bench'
  return {
    one: (payload) => boss.send(queue, payload),
    many: (payloads) =>
      boss.insert(
        queue,
        payloads.map((data) => ({ data })),
      ),
    close: () => boss.stop({ graceful: false }),
  }
}

export async function startWorker(url, { goal }, handle) {
  const isLatency = goal === 'latency'
  const boss = await open(url, { max: 10, useListenNotify: isLatency })
  let handled = 0
  const options = isLatency
    ? { localConcurrency: 4, pollingIntervalSeconds: 0.5 }
    : { batchSize: 500, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
  await boss.work(isLatency ? 'called' : 'bench', options, async (jobs) => {
    for (const job of jobs) handle(job.data)
    handled += jobs.length
  })
  return {
    // It does not say when a batch has been written; the clock stops when its last handler has ended, in its favour.
    settled: () => handled,
    stop: () => boss.stop({ graceful: true, timeout: 10_000 }),
  }
}
