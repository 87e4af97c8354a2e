// How soon a job starts when nothing else is to be done, and what workers cost that have nothing to do.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from '../dist/index.js'
import { registerBench } from './enqueueing.mjs'
import { percentile } from './figures.mjs'
import { startWorkerProcess } from './processes.mjs'
import { readCounters, withDatabase } from './server.mjs'

/** After this a worker has fallen asleep and is woken by a call, and what its start did has been counted. */
const asleepAfterMs = 4_000

export const latency = {
  figures: {
    startP50: 'enqueue (called) to start (handler begins), idle worker: p50 ms',
    startP99: 'enqueue (called) to start (handler begins), idle worker: p99 ms',
  },
  measure: (server, { latencies }) =>
    withDatabase(server, async (url, client) => {
      await registerBench(client)
      const worker = await startWorkerProcess({ url })
      const holdfast = new Holdfast({ connectionString: url })
      for (let i = 0; i < 20; i++) await holdfast.enqueue('bench', { warm: true })
      await pause(asleepAfterMs)
      for (let i = 0; i < latencies; i++) {
        await holdfast.enqueue('bench', { sentAt: Number(process.hrtime.bigint()) / 1e6 })
        // Uneven, so that no rhythm of the worker's own falls together with it.
        await pause(15 + Math.random() * 20)
      }
      const { latencies: seen } = await worker.ask('report')
      await worker.stop()
      await holdfast.close()
      return { startP50: percentile(seen, 0.5), startP99: percentile(seen, 0.99) }
    }),
}

export const idle = {
  figures: {
    idleCpuPercent: 'idle: CPU of five worker processes together, percent of one core',
    idleXidsPerSecond: 'idle: transaction ids used per second by five workers',
    idleCommitsPerSecond: 'idle: transactions per second by five workers',
  },
  measure: (server, { idleMs }) =>
    withDatabase(server, async (url, client) => {
      await registerBench(client)
      const workers = await Promise.all(Array.from({ length: 5 }, () => startWorkerProcess({ url })))
      await pause(asleepAfterMs)
      const cpu = async () =>
        (await Promise.all(workers.map((worker) => worker.ask('report')))).reduce((sum, r) => sum + r.cpuMs, 0)
      const [cpuBefore, before, begun] = [await cpu(), await readCounters(client), performance.now()]
      await pause(idleMs)
      const [cpuAfter, after, ms] = [await cpu(), await readCounters(client), performance.now() - begun]
      await Promise.all(workers.map((worker) => worker.stop()))
      return {
        idleCpuPercent: ((cpuAfter - cpuBefore) / ms) * 100,
        idleXidsPerSecond: ((after.xids - before.xids) / ms) * 1000,
        idleCommitsPerSecond: ((after.commits - before.commits) / ms) * 1000,
      }
    }),
}
