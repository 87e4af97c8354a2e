import type { Privacy } from '../privacy/privacy.js'
import type { Store } from '../store/store.js'
import type { WakeUps } from '../waking/wake-ups.js'
import { Backpressure } from './backpressure.js'
import { Batcher } from './batcher.js'
import { PayloadEncryption } from './encrypt.js'
import type { Counter } from './enqueue.js'
import type { TypeRegistry } from './registry.js'

/** What every enqueue of one Holdfast works with. */
export function counterOf(
  store: Store,
  registry: TypeRegistry,
  privacy: Privacy,
  hosts: readonly string[],
  retryForMs: number,
  wakeUps: WakeUps | undefined,
): Counter {
  return {
    store,
    registry,
    backpressure: new Backpressure(store.operate),
    batcher: new Batcher(store),
    retryForMs,
    wakeUps,
    encryption: new PayloadEncryption(store, registry, privacy, hosts),
  }
}
