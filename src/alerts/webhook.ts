import { wallMs } from '../clock.js'
import { storedWebhook, webhookJobs } from '../enqueue/webhook.js'
import { FatalError } from '../errors.js'
import type { EventError, EventKind } from '../job/event.js'
import { misconfigured } from '../job/refused.js'
import { readTargetUrl } from '../job/target-url.js'
import { type AnyJobType, defineType } from '../job/type.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { WebhookRow, WebhookStore } from '../store/webhook-store.js'
import { checkedUrl } from './delivery.js'
import { signed } from './signature.js'

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
  /** It is about the job's own webhook, not that of its type. */
  own: boolean
}

/** Sends a webhook. It is a job like any other: tried again for hours, visible while it waits, a dead letter if the receiver never accepts it. */
export function webhookDelivery(store: WebhookStore, hosts: readonly string[], privacy: Privacy): AnyJobType {
  return defineType({
    ...webhookJobs,
    async run(payload, { job, signal, log }) {
      const { kind, at, own, ...told } = payload as Told
      const webhook = await (own ? store.ofJob(told.job) : store.ofType(told.type))
      if (!webhook) return log(`${own ? `job ${told.job}` : told.type} has no webhook any more; nobody is told`)
      const body = JSON.stringify({ type: `job.${kind}`, timestamp: at, data: told })
      const secrets = webhook.secrets.map((secret) => decrypted(webhook.url, secret, privacy))
      // Loaded for the first of them: most workers start without one to send.
      const { call } = await import('./post.js')
      await call(checkedUrl(webhook.url, hosts), body, signed(secrets, `msg_${job.id}`, wallMs(), body), signal)
    },
  })
}

/** The webhooks of these types as they are stored. An address that is not allowed here is refused when the worker starts. */
export function webhooksOf(types: readonly AnyJobType[], hosts: readonly string[], privacy: Privacy): WebhookRow[] {
  return types.flatMap(({ type, webhook }) => {
    if (!webhook) return []
    try {
      readTargetUrl(webhook.url, hosts)
    } catch (error) {
      throw misconfigured('webhook.url', `of ${type} ${(error as Error).message.replace(/^url /, '')}`)
    }
    return [{ type, ...storedWebhook(webhook, privacy) }]
  })
}

function decrypted(url: string, secret: string, privacy: Privacy): string {
  try {
    return privacy.decrypt(url, secret, 'secret')
  } catch (error) {
    throw error instanceof UnreadableError ? new FatalError(error.message) : error
  }
}
