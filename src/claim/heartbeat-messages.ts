import type pg from 'pg'
import type { HeldLease, RenewedRow } from '../store/lease-store.js'

export interface HeartbeatSettings {
  worker: number
  intervalMs: number
  /** The lease of lanes that have none of their own. */
  leaseMs: number
  /** A worker that has sent nothing to the thread for this long hangs: its leases are no longer renewed. */
  patienceMs: number
  connection: pg.ClientConfig
  schema: string
}

/** From the worker to its heartbeat thread. */
export type ToHeartbeat =
  | { kind: 'hold'; lease: string; leaseMs: number }
  | { kind: 'release'; leases: readonly string[] }
  | { kind: 'alive'; lookedMsAgo: number | null }
  | { kind: 'renewed'; ok: boolean }
  | { kind: 'stop' }

/** From the heartbeat thread to its worker. */
export type FromHeartbeat =
  /** A heartbeat is due: the worker is asked first, which has a connection already. */
  | { kind: 'due' }
  | { kind: 'beat' }
  | { kind: 'lost'; leases: readonly string[] }
  | { kind: 'cancelled'; jobs: readonly string[] }
  | { kind: 'trouble'; message: string }
  | { kind: 'stopped' }

/** An order to claim no more, and who gave it. */
export interface DrainOrder {
  by: string
  why: string | null
}

/**
 * What a heartbeat has to say to the worker: leases that are lost, jobs that were cancelled, and whether it is to claim no more. A lease released
 * meanwhile is not lost.
 */
export function readBeat(asked: readonly HeldLease[], rows: readonly RenewedRow[], held: ReadonlyMap<string, unknown>) {
  const renewed = new Set(rows.map(({ lease }) => lease))
  const lost = asked.map(([lease]) => lease).filter((lease) => !renewed.has(lease) && held.has(lease))
  const cancelled = rows.flatMap((row) => (row.lease === null ? [] : row.cancelled))
  const [order] = rows.flatMap((row): DrainOrder[] =>
    row.lease === null ? [{ by: row.cancelled[0], why: row.cancelled[1] }] : [],
  )
  return { lost, cancelled, order: order ?? null }
}

/** How long the worker may take to renew its leases itself, before the thread does. */
export function answerOfWorkerMs(intervalMs: number): number {
  return Math.min(2_000, intervalMs / 3)
}

const leastMs = 5_000

/**
 * How long one heartbeat may take to connect and to be answered: a half and a third of the shortest lease that is held. Shorter, no
 * heartbeat would succeed on a slow network, and the worker would lose every job; longer, a half-open connection would be noticed too
 * late for another try within the lease.
 */
export function heartbeatPatience(leasesMs: readonly number[]): { connectMs: number; answerMs: number } {
  const leaseMs = Math.min(...leasesMs)
  return { connectMs: Math.max(leastMs, leaseMs / 2), answerMs: Math.max(leastMs, leaseMs / 3) }
}
