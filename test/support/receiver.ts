import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  path: string
  id: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent is what the test looks at
  message: any
  headers: IncomingMessage['headers']
  body: string
}

export type Answering = (response: ServerResponse, request: Received) => void

/** Who is notified of trouble: a server on loopback that answers as it is told and remembers what it got. */
export async function startReceiver(
  answer: Answering = (response) => response.writeHead(204).end(),
  { host = '127.0.0.1', port: asked = 0 } = {},
) {
  const received: Received[] = []
  let answering = answer
  let connections = 0
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const got = {
      path: request.url ?? '',
      id: String(request.headers['webhook-id']),
      message: JSON.parse(body),
      headers: request.headers,
      body,
    }
    received.push(got)
    answering(response, got)
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(asked, host, resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    port,
    url: `http://localhost:${port}/hook`,
    host: `localhost:${port}`,
    received,
    connections: () => connections,
    answerWith(next: Answering) {
      answering = next
    },
  }
}

/** As a receiver would check it who has only read the specification: https://www.standardwebhooks.com */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const expected = createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
    .update(content)
    .digest()
  const age = Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp']))
  return String(headers['webhook-signature'])
    .split(' ')
    .some((one) => {
      const [version, signature = ''] = one.split(',')
      const given = Buffer.from(signature, 'base64')
      return version === 'v1' && age < 300 && given.length === expected.length && timingSafeEqual(given, expected)
    })
}
