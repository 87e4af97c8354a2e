import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { onTestFinished } from 'vitest'

/** A small load balancer: sends each request to the next server whose /healthz says yes. Gone when the test ends. */
export interface RoundRobin {
  readonly address: string
  /** How many requests each server was sent, by its address. */
  readonly sent: ReadonlyMap<string, number>
  /** The servers it sends requests to now. */
  readonly healthy: ReadonlySet<string>
}

const checkEveryMs = 100

export async function startRoundRobin(targets: readonly string[]): Promise<RoundRobin> {
  const healthy = new Set(targets)
  const sent = new Map(targets.map((target) => [target, 0]))
  let next = 0
  const check = setInterval(() => {
    for (const target of targets) {
      fetch(`${target}/healthz`).then(
        ({ ok }) => void (ok ? healthy.add(target) : healthy.delete(target)),
        () => void healthy.delete(target),
      )
    }
  }, checkEveryMs)
  const proxy = createServer((incoming, answer) => {
    const up = targets.filter((target) => healthy.has(target))
    const target = up[next++ % Math.max(1, up.length)]
    const fail = () => void answer.writeHead(502).end()
    if (target === undefined) return fail()
    sent.set(target, (sent.get(target) ?? 0) + 1)
    const { method, url, headers } = incoming
    const forwarded = { ...headers, 'x-forwarded-for': incoming.socket.remoteAddress }
    const outgoing = request(target + url, { method, headers: forwarded, agent: false }, (response) => {
      answer.writeHead(response.statusCode as number, response.headers)
      response.pipe(answer)
    })
    outgoing.on('error', fail)
    incoming.pipe(outgoing)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(async () => {
    clearInterval(check)
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  })
  return { address: `http://127.0.0.1:${(proxy.address() as { port: number }).port}`, sent, healthy }
}
