import type { DepthBody, DepthsAnswer } from '../../api/flow.js'
import type { DepthFields } from '../../flow/depth.js'
import type { Holdfast } from '../../holdfast.js'
import type { Actor } from '../../job/actor.js'
import { refused } from '../../job/refused.js'

/** How much may wait, and how much does, as it stands in an answer. */
export async function depthsOf({ flow }: Holdfast): Promise<DepthsAnswer['limits']> {
  return (await flow.depthLimits()).map(({ name, oldestMs, waitsMs, ...limit }) => ({
    ...{ ...limit, name: name === '' ? null : name },
    oldest_ms: oldestMs,
    waits_ms: waitsMs === null ? null : Math.max(0, Math.round(waitsMs)),
  }))
}

/** Sets it as a request says; what is null or left out is not limited. */
export async function limitDepth({ flow }: Holdfast, body: DepthBody, who: Actor): Promise<void> {
  const { scope: _scope, name: _name, why: _why, ...limit } = body
  const given = Object.entries(limit).filter(([, value]) => value !== undefined && value !== null)
  await flow.limitDepth(scopeOf(body), Object.fromEntries(given) as DepthFields, who)
}

function scopeOf({ scope, name }: DepthBody): Parameters<Holdfast['flow']['limitDepth']>[0] {
  if ((scope === 'queue') !== (name === undefined)) {
    throw refused('name', scope === 'queue' ? 'is not for the queue, of which there is one' : `is missing; say which ${scope}`)
  }
  if (name === undefined) return 'queue'
  return scope === 'lane' ? { lane: name } : { type: name }
}
