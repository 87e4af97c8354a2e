import type { Monitor } from '../background/background.js'
import type { DrainOrder } from '../claim/heartbeat-messages.js'
import type { Lane } from '../claim/lanes.js'
import type { LeaseKeeper } from '../claim/lease-keeper.js'
import { monotonicMs } from '../clock.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { AnyJobType } from '../job/type.js'
import type { Privacy } from '../privacy/privacy.js'
import type { SlotPools } from '../run/slot-pools.js'
import { mayBeSuspect, withCrashes } from '../run/suspects.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { claimedJob } from './claimed-job.js'
import type { Outcomes } from './outcomes.js'

/** How long a job is put off whose payload is too new for this worker. */
const tooNewMs = 5_000

export interface IntakeParts {
  store: Store
  privacy: Privacy
  types: ReadonlyMap<number, AnyJobType>
  leases: LeaseKeeper
  pools: SlotPools
  outcomes: Outcomes
  monitor: Monitor
}

/** The way of a claimed row to the slot it runs in: its lease is kept from the first moment on, its payload is decrypted. */
export class Intake {
  readonly #parts: IntakeParts
  /** An operator's order to claim no more; null: there is none. */
  order: DrainOrder | null = null

  constructor(parts: IntakeParts) {
    this.#parts = parts
  }

  /** How many jobs of this lane the worker can take now. */
  claimable(lane: Lane): number {
    const { outcomes, pools } = this.#parts
    if (outcomes.full || this.order) return 0
    const claimable = lane.group.claimable()
    if (lane.slots === Number.POSITIVE_INFINITY) return claimable
    return Math.min(claimable, Math.max(0, lane.slots - pools.heldOf(lane.reader.lane)))
  }

  async take(rows: readonly ClaimedRow[], lane: Lane): Promise<void> {
    const { store, privacy, types, leases, pools, outcomes, monitor } = this.#parts
    const claimedAtMs = monotonicMs()
    const lease = (rows[0] as ClaimedRow).lease
    leases.hold(lease, rows.length, lane.leaseMs)
    const jobs = rows.map((row) => claimedJob(row, types.get(row.type) as AnyJobType, lane.reader.lane, claimedAtMs, privacy))
    const isTooNew = ({ version = 1, type }: ClaimedJob) => version > type.version
    // Such a job was given a newer payload while it stood in the queue. It waits, and becomes blocked where no worker knows that version.
    const tooNew = jobs.filter(isTooNew)
    for (const job of tooNew) outcomes.ended(job, { kind: 'snoozed', delayMs: tooNewMs }, null)
    const readable = tooNew.length === 0 ? jobs : jobs.filter((job) => !isTooNew(job))
    const retried = readable.filter(mayBeSuspect)
    if (retried.length === 0) return pools.add(readable)
    pools.add(readable.filter((job) => !mayBeSuspect(job)))
    try {
      pools.add(await withCrashes(store, retried))
    } catch (error) {
      monitor.failed('claims', error)
      for (const job of retried) outcomes.ended(job, { kind: 'handed_back' }, null)
    }
  }
}
