import { refused } from '../job/refused.js'
import { readTargetUrl } from '../job/target-url.js'
import { defineType } from '../job/type.js'
import type { Webhook } from '../job/webhook.js'
import type { Privacy } from '../privacy/privacy.js'
import type { NewJob, StoredWebhook } from '../store/new-job.js'

/**
 * How requests about jobs are sent. Whoever enqueues a job with a webhook registers this type, and a worker runs it: a receiver that is down must
 * not stop the others, so the type has no breaker.
 */
export const webhookJobs = {
  type: 'holdfast:webhook',
  maxAttempts: 10,
  timeout: '30s',
  backoff: { base: '10s', factor: 3, cap: '1h', jitter: '5s' },
  limits: { breaker: false },
} as const

/** The definition that producers register. */
export const webhookType = defineType(webhookJobs)

/** A webhook as it is stored: its secrets are encrypted if there are keys. */
export function storedWebhook({ url, on, secrets }: Webhook, privacy: Privacy): StoredWebhook {
  return { url, kinds: on, secrets: secrets.map((secret) => privacy.encryptSecret(url, secret)) }
}

/** Checks the addresses of the webhooks of jobs, and encrypts their secrets if there are keys. */
export function encryptWebhooks(jobs: readonly NewJob[], hosts: readonly string[], privacy: Privacy): void {
  for (const [index, job] of jobs.entries()) {
    if (job.webhook === null) continue
    const { url, kinds: on, secrets } = job.webhook
    try {
      readTargetUrl(url, hosts)
    } catch (error) {
      const problem = refused('webhook.url', (error as Error).message.replace(/^url /, ''))
      problem.index = index
      throw problem
    }
    job.webhook = storedWebhook({ url, on, secrets }, privacy)
  }
}
