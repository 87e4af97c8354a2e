import { wallMs } from '../clock.js'
import { FatalError } from '../errors.js'
import { type AnyJobType, defineType } from '../job/type.js'
import type { AlertStore } from '../store/alert-store.js'
import { call } from './call.js'
import { messageOf, type Trouble } from './message.js'
import { type Place, readPlace } from './place.js'
import { signed } from './signature.js'

/** The type of the jobs that call targets. */
export const alertType = 'holdfast:alert'

/**
 * Calls a target about trouble that began or is over. A job like any other: tried again for hours, seen while it waits, a dead
 * letter where nobody takes it. One target that is away must not stop the calls to others, so there is no breaker.
 */
export function alertDelivery(store: AlertStore, hosts: readonly string[]): AnyJobType {
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
      if (!target) return log(`target ${trouble.target} was removed; nobody is called`)
      const body = JSON.stringify(messageOf(trouble))
      await call(placeOf(target.url, hosts), body, signed(target.secret, `msg_${job.id}`, wallMs(), body), signal)
    },
  })
}

/** What it was allowed when it was added may not be allowed here. Trying again would not change that. */
function placeOf(url: string, hosts: readonly string[]): Place {
  try {
    return readPlace(url, hosts)
  } catch (error) {
    throw new FatalError((error as Error).message)
  }
}
