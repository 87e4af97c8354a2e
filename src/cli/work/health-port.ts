import { createServer, type Server } from 'node:http'
import { misconfigured } from '../../job/refused.js'
import type { Health } from '../../worker/health.js'
import { watchProcess } from './process-metrics.js'

/** Answers probes of one worker; `health` says nothing until the worker has started. */
export interface HealthPort {
  readonly port: number
  close(): void
}

/**
 * Opens the port that probes of a worker ask: `/healthz` (restart it when this fails), `/readyz` (it has started and takes jobs) and
 * `/metrics` of the process. It names no hosts and no reasons, since everybody who reaches the port can ask.
 */
export async function openHealthPort(host: string, port: number, health: () => Health | undefined): Promise<HealthPort> {
  const metrics = watchProcess(() => health() ?? { status: 'starting', running: 0, unwritten: 0, lastContactMs: 0 })
  const server = createServer((request, response) => {
    const answer = (code: number, body: string, type = 'application/json') =>
      response.writeHead(code, { 'content-type': type, 'cache-control': 'no-store' }).end(request.method === 'HEAD' ? '' : body)
    const say = (ok: boolean, status: string) => answer(ok ? 200 : 503, JSON.stringify({ status }))
    const status = health()?.status ?? 'starting'
    switch (new URL(request.url ?? '/', 'http://worker').pathname) {
      // One that drains is in good health: to restart it would end the jobs that it lets finish.
      case '/healthz':
        return say(status !== 'unhealthy', status)
      case '/readyz':
        return say(status === 'ok', status)
      case '/metrics':
        return answer(200, metrics(), 'text/plain; version=0.0.4; charset=utf-8')
      default:
        return answer(404, JSON.stringify({ error: 'a worker answers /healthz, /readyz and /metrics' }))
    }
  })
  await listen(server, host, port)
  // The worker decides when the process ends.
  server.unref()
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () => void server.close(() => {}).closeAllConnections(),
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(misconfigured('--health-port', `is ${port}, and ${host}:${port} cannot be opened: ${error.message}`)),
    )
    server.listen(port, host, () => resolve())
  })
}
