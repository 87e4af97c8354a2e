import type { Privacy } from '../privacy/privacy.js'
import type { Store } from '../store/store.js'
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
): Counter {
  return {
    store,
    registry,
    backpressure: new Backpressure(store.operate),
    batcher: new Batcher(store),
    retryForMs,
    encryption: new PayloadEncryption(store, registry, privacy, hosts),
  }
}
