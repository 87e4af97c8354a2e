import { wallMs } from '../clock.js'
import { FatalError } from '../errors.js'
import { readTargetUrl, type TargetUrl } from '../job/target-url.js'
import { type AnyJobType, defineType } from '../job/type.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { AlertStore, TargetSecretsRow } from '../store/alert-store.js'
import { bodyFor } from './forms.js'
import type { Trouble } from './message.js'
import { signed } from './signature.js'

/** The type of the jobs that send webhooks. */
export const alertType = 'holdfast:alert'

/**
 * Sends a webhook about an alert that began or is over. It is a job like any other: tried again for hours, visible while it waits, a
 * dead letter if the target never accepts it. A target that is down must not stop webhooks to others, so the type has no breaker.
 */
export function alertDelivery(store: AlertStore, hosts: readonly string[], privacy: Privacy): AnyJobType {
  return defineType({
    type: alertType,
    lane: 'system',
    priority: 9,
    maxAttempts: 10,
    timeout: '30s',
    backoff: { base: '10s', factor: 3, cap: '1h', jitter: '5s' },
    limits: { breaker: false },
    async run(payload, { job, signal, log }) {
      const trouble = payload as Trouble & { target: number }
      const target = await store.target(trouble.target)
      if (!target) return log(`target ${trouble.target} was removed; nothing is sent`)
      const secrets = secretsOf(target, privacy, log)
      const body = JSON.stringify(bodyFor(target.form, trouble, secrets[0] as string))
      // PagerDuty knows its own by the routing key; the secret must not sign anything.
      const headers = target.form === 'pagerduty' ? {} : signed(secrets, `msg_${job.id}`, wallMs(), body)
      // Loaded for the first of them: most workers start without one to send.
      const { call } = await import('./post.js')
      await call(checkedUrl(target.url, hosts), body, headers, signal)
    },
  })
}

/** The current secret is required. The old one is optional: it may be encrypted with a lost key, which was the reason to rotate. */
function secretsOf({ url, secret, old }: TargetSecretsRow, privacy: Privacy, log: (line: string) => void): string[] {
  const decrypt = (text: string, orElse: (error: UnreadableError) => string[]) => {
    try {
      return [privacy.decrypt(url, text, 'secret')]
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      return orElse(error)
    }
  }
  const current = decrypt(secret, ({ message }) => {
    throw new FatalError(message)
  })
  if (old === null) return current
  const before = decrypt(old, ({ message }) => {
    log(`signed with the new secret alone: of the old one, ${message}`)
    return []
  })
  return [...current, ...before]
}

/**
 * An address that was allowed where it was stored may not be allowed in this worker. The attempt fails rather than the job: workers may be
 * configured differently, and the next one may send it.
 */
export function checkedUrl(url: string, hosts: readonly string[]): TargetUrl {
  try {
    return readTargetUrl(url, hosts)
  } catch (error) {
    throw new Error(`${(error as Error).message}, and this worker names others`)
  }
}
