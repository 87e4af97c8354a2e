import type { EventEmitter } from 'node:events'
import type { WorkerEvents } from '../events.js'
import type { Holdfast } from '../holdfast.js'
import { decodePayload } from '../job/payload.js'
import { type AnyJobType, defineType } from '../job/type.js'
import type { Verify } from '../job/verify.js'
import type { Privacy } from '../privacy/privacy.js'
import { upToDate } from '../run/attempt.js'
import type { VerificationStore } from '../store/verification-store.js'
import type { Logger } from './logger.js'

/** Types that verify completed jobs of others, and what asks for it. */
export interface Verifications {
  types: readonly AnyJobType[]
  /** Has a share of the jobs that this worker completes verified. */
  sample(events: EventEmitter<WorkerEvents>, holdfast: Holdfast, log: Logger): void
}

/**
 * Each type with `verify` has a type of its own that verifies its jobs, so that only workers which know the definition run it. What is asked for is a job like
 * any other: it waits until it is due, survives the worker, and is tried again where it cannot tell.
 */
export function verificationsOf(
  handlers: ReadonlyMap<string, AnyJobType>,
  store: VerificationStore,
  privacy: Privacy,
): Verifications {
  const old = new Set([...handlers.values()].flatMap(({ aliases }) => aliases))
  const verified = [...handlers.values()].filter(({ type, verify }) => verify !== undefined && !old.has(type))
  const verifiers = verified.map((type) => verifierOf(type, type.verify as Verify, store, privacy))
  const byName = new Map(
    verified.flatMap((type, at) =>
      [type.type, ...type.aliases].map((name) => [name, [verifiers[at] as AnyJobType, type.verify as Verify]] as const),
    ),
  )
  return {
    types: verifiers,
    sample(events, holdfast, log) {
      if (byName.size === 0) return
      events.on('job.completed', ({ job, type }) => {
        const [verifier, verify] = byName.get(type) ?? []
        if (!verifier || !verify || Math.random() >= verify.share) return
        // One that cannot be stored is one less in the sample.
        holdfast
          .enqueue(verifier, { job }, { delay: verify.afterMs, retryFor: 0 })
          .catch((error: Error) => log.warn({ job, type, error: error.message }, 'a completed job is not verified'))
      })
    },
  }
}

function verifierOf(of: AnyJobType, verify: Verify, store: VerificationStore, privacy: Privacy): AnyJobType {
  const { type, encrypt: encrypted } = of
  return defineType({
    type: `holdfast:verify:${type}`,
    priority: 0,
    maxAttempts: 3,
    timeout: '5m',
    limits: { breaker: false },
    async run(asked, { log }) {
      const { job } = asked as { job: string }
      const found = await store.finished(job)
      if (!found) return log('the job is not kept any more, so nobody can tell')
      const read = (text: string, what: 'payload' | 'result') =>
        decodePayload(privacy.decrypt(job, text, what, { type, encrypted }))
      const payload = await upToDate(read(found.payload, 'payload'), found.version, of)
      const result = found.result === null ? undefined : read(found.result, 'result')
      const confirmed = (await verify.check(payload, result)) !== false
      await store.note(type, confirmed)
      if (!confirmed) log.warn(`job ${job} is completed, and its work was not done`)
      return { job, confirmed }
    },
  })
}
