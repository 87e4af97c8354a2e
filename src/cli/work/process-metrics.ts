import { monitorEventLoopDelay } from 'node:perf_hooks'
import { wallMs } from '../../clock.js'
import type { Metric } from '../../metrics/declared.js'
import { block, sample } from '../../metrics/exposition.js'

/** What one worker process tells of itself. The names without `holdfast` are those that other programs on Node use for the same. */
export const processMetrics = {
  healthy: gauge('holdfast_worker_healthy', '1 while this worker truly works, 0 when the database leaves it without an answer.'),
  stopping: gauge('holdfast_worker_stopping', '1 while this worker drains: it takes no new jobs and lets running ones end.'),
  running: gauge('holdfast_worker_jobs_running', 'Attempts that run in this worker now.'),
  unwritten: gauge('holdfast_worker_results_unwritten', 'Results that are finished in this worker and not yet in the database.'),
  lastContact: gauge('holdfast_worker_last_contact_seconds', 'How long ago the database answered this worker.'),
  cpu: { ...gauge('process_cpu_seconds_total', 'Processor time that this process has used, in seconds.'), kind: 'counter' },
  memory: gauge('process_resident_memory_bytes', 'Memory that this process holds.'),
  heap: gauge('nodejs_heap_size_used_bytes', 'JavaScript heap that is in use.'),
  lag: gauge('nodejs_eventloop_lag_p99_seconds', 'How late timers were since the last reading, at the 99th percentile.'),
  started: gauge('process_start_time_seconds', 'When this process started, in seconds since 1970.'),
} as const satisfies Record<string, Metric>

export interface WorkerNow {
  status: string
  running: number
  unwritten: number
  lastContactMs: number
}

/** Returns what reads the metrics of this process, as text in the format that Prometheus reads. */
export function watchProcess(worker: () => WorkerNow): () => string {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  return () => {
    const { status, running, unwritten, lastContactMs } = worker()
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    const lag = delay.percentile(99) / 1e9
    delay.reset()
    const values: Record<keyof typeof processMetrics, number> = {
      healthy: Number(status !== 'unhealthy'),
      stopping: Number(status === 'stopping'),
      running,
      unwritten,
      lastContact: lastContactMs / 1000,
      cpu: (user + system) / 1e6,
      memory: rss,
      heap: heapUsed,
      lag: Number.isFinite(lag) ? lag : 0,
      started: Math.round(wallMs() / 1000 - process.uptime()),
    }
    return Object.entries(processMetrics)
      .map(([name, metric]) => block(metric, [sample(metric, [], values[name as keyof typeof values])]))
      .join('')
  }
}

function gauge(name: string, help: string): Metric {
  return { name, kind: 'gauge', labels: [], help }
}
