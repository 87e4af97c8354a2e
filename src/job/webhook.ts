import { Checker } from './checker.js'
import { type EventKind, eventKinds } from './event.js'
import { showValue } from './failure.js'

/** Where a signed request goes when something happened to a job, or to any job of a type. */
export interface WebhookOption {
  /** An https address. Other addresses, and hosts in the own network, have to be named in `alertHosts`. */
  url: string
  /**
   * The kinds of events that are told.
   * @default ['completed', 'dead']
   */
  on?: readonly EventKind[]
  /**
   * What requests are signed with, as Standard Webhooks writes it: `whsec_` and at least 24 bytes in base64. Of two, while one takes the place
   * of the other, each signs every request.
   */
  secret: string | readonly string[]
}

/** The same, checked. */
export interface Webhook {
  readonly url: string
  readonly on: readonly EventKind[]
  readonly secrets: readonly string[]
}

const leastBytes = 24
const mostSecrets = 2

/** The address is checked by whoever stores it, who knows which hosts are allowed. `of`: the type whose jobs it is about. */
export function readWebhook(webhook: unknown, of: string): Webhook | undefined {
  if (webhook === undefined) return undefined
  const check = new Checker()
  if (typeof webhook !== 'object' || webhook === null) {
    check.wrong('webhook', `is ${showValue(webhook)}; it must be an object with url and secret`)
    check.done('invalid_option', `the webhook of ${of} has problems`)
  }
  const { url, secret, on = ['completed', 'dead'] } = webhook as Partial<WebhookOption>
  check.known(webhook as object, ['url', 'on', 'secret'], ['webhook'])
  if (typeof url !== 'string') check.wrong('webhook.url', `is ${showValue(url)}; it must be an address`)
  const known = Array.isArray(on) && on.length > 0 && on.every((kind) => eventKinds.includes(kind))
  if (!known) check.wrong('webhook.on', `is ${showValue(on)}; it must be a list of ${eventKinds.join(', ')}`)
  // Never shown, not even where it is wrong.
  const secrets = (Array.isArray(secret) ? secret : [secret]) as unknown[]
  if (secrets.length < 1 || secrets.length > mostSecrets) {
    check.wrong(
      'webhook.secret',
      `is a list of ${secrets.length}; it must be one secret, or two while one takes the place of the other`,
    )
  } else if (!secrets.every(isSecret)) {
    check.wrong('webhook.secret', `must be whsec_ and at least ${leastBytes} random bytes in base64`)
  }
  check.done('invalid_option', `the webhook of ${of} has problems`)
  return Object.freeze({ url, on: Object.freeze([...on]), secrets: Object.freeze(secrets) } as Webhook)
}

function isSecret(secret: unknown): boolean {
  const encoded = typeof secret === 'string' ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1] : undefined
  return encoded !== undefined && Buffer.from(encoded, 'base64').length >= leastBytes
}
