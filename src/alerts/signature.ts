import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** A secret as Standard Webhooks writes it. */
export function freshSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/**
 * The headers of Standard Webhooks: an id that is the same in every retry, the time, and a signature with each secret, of which the
 * receiver needs one.
 */
export function signed(secrets: readonly string[], id: string, atMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1_000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
