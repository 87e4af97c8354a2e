import type { TypeRegistry } from './enqueue/registry.js'
import { HoldfastError } from './errors.js'
import type { Duration } from './job/duration.js'
import type { Privacy } from './privacy/privacy.js'
import type { Store } from './store/store.js'
import type { WakeUps } from './waking/wake-ups.js'

/** What our own worker, server and tests use of a Holdfast, and nobody else: none of it is a property that users see. */
export interface Inside<Self> {
  readonly store: Store
  readonly types: TypeRegistry
  /** What wakes workers in place of LISTEN, where a Redis was named. */
  readonly wakeUps: WakeUps | undefined
  /** What this process keeps from the database, and from people. */
  readonly privacy: Privacy
  /** Hosts that alerts may be sent to although they are at a private address or without TLS. */
  readonly alertHosts: readonly string[]
  /** Whether a replica was named, for lists and the like. */
  readonly hasReplica: boolean
  /**
   * The same queue to look at, over connections of its own: whoever reads takes none from those who enqueue and work, cannot
   * write, and is cut off by the database itself after that time. With `replica` it reads
   * from the replica while that is near enough. To be closed like the first.
   */
  forReading(settings: { connections: number; within: Duration; replica?: boolean }): Self
}

/** Registered, and so the same in two copies of the package: a program may load its worker and its Holdfast from either. */
const inside = Symbol.for('holdfast.inside')

export function keepInside<Self extends object>(holdfast: Self, parts: Inside<Self>): void {
  Object.defineProperty(holdfast, inside, { value: parts })
}

export function insideOf<Self extends object>(holdfast: Self): Inside<Self> {
  const parts = (holdfast as { [inside]?: Inside<Self> })?.[inside]
  if (parts) return parts
  throw new HoldfastError('invalid_configuration', 'the first argument must be a Holdfast, as new Holdfast() makes it', {
    field: 'holdfast',
  })
}
