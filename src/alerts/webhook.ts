import { wallMs } from '../clock.js'
import { FatalError } from '../errors.js'
import type { EventError, EventKind } from '../job/event.js'
import { misconfigured } from '../job/refused.js'
import { type AnyJobType, defineType } from '../job/type.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { WebhookRow, WebhookStore } from '../store/webhook-store.js'
import { placeOf } from './delivery.js'
import { call } from './post.js'
import { signed } from './signature.js'
import { readTargetUrl } from './target-url.js'

/** The type of the jobs that send what happened to other jobs. */
export const webhookType = 'holdfast:webhook'

/** What the transaction that made it happen wrote. */
interface Told {
  kind: EventKind
  job: string
  type: string
  tags: string[]
  attempt: number
  at: string
  reason: string | null
  error: EventError | null
}

/**
 * Sends a webhook of a type. It is a job like any other: tried again for hours, visible while it waits, a dead letter if the receiver
 * never accepts it. A receiver that is down must not stop the others, so the type has no breaker.
 */
export function webhookDelivery(store: WebhookStore, hosts: readonly string[], privacy: Privacy): AnyJobType {
  return defineType({
    type: webhookType,
    maxAttempts: 10,
    timeout: '30s',
    backoff: { base: '10s', factor: 3, cap: '1h', jitter: '5s' },
    limits: { breaker: false },
    async run(payload, { job, signal, log }) {
      const { kind, at, ...told } = payload as Told
      const webhook = await store.of(told.type)
      if (!webhook) return log(`${told.type} has no webhook any more; nobody is told`)
      const body = JSON.stringify({ type: `job.${kind}`, timestamp: at, data: told })
      const secret = opened(webhook, privacy)
      await call(placeOf(webhook.url, hosts), body, signed([secret], `msg_${job.id}`, wallMs(), body), signal)
    },
  })
}

/** The webhooks of these types as they are stored. An address that is not allowed here is refused when the worker starts. */
export function webhooksOf(types: readonly AnyJobType[], hosts: readonly string[], privacy: Privacy): WebhookRow[] {
  return types.flatMap(({ type, webhook }) => {
    if (!webhook) return []
    const { url, on, secret } = webhook
    try {
      readTargetUrl(url, hosts)
    } catch (error) {
      throw misconfigured('webhook.url', `of ${type} ${(error as Error).message.replace(/^url /, '')}`)
    }
    return [{ type, url, kinds: on, secret: privacy.encryptSecret(url, secret) }]
  })
}

function opened({ url, secret }: { url: string; secret: string }, privacy: Privacy): string {
  try {
    return privacy.decrypt(url, secret, 'secret')
  } catch (error) {
    throw error instanceof UnreadableError ? new FatalError(error.message) : error
  }
}
